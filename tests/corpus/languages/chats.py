"""Made-up service dialogues in several languages, of words that English rules would misread (die, war, art, no)."""

from __future__ import annotations

import json
import random
from pathlib import Path

SLOTS = {
    "de": ("Fahrrad", "Konto", "Drucker", "Garten", "Vertrag", "Kühlschrank", "Zug", "Paket", "Rezept", "Fenster"),
    "es": ("bicicleta", "cuenta", "impresora", "huerta", "factura", "nevera", "maleta", "receta", "ventana", "cita"),
    "zh": ("自行车", "账户", "打印机", "花园", "合同", "冰箱", "火车票", "包裹", "菜谱", "窗户"),
    "en": ("bicycle", "account", "printer", "garden", "contract", "fridge", "train", "parcel", "recipe", "window"),
}
USER = {
    "de": (
        "Hallo, ich brauche Hilfe mit meinem {}.",
        "Das {} ist schon wieder kaputt, was kann ich tun?",
        "Wie lange dauert das denn noch?",
        "Danke, die Antwort war mir leider zu kurz.",
        "Ach so, jetzt habe ich es verstanden.",
        "Nein, so war das nicht gemeint.",
        "Prima, das hat sofort geklappt!",
        "Können Sie mir bitte die Rechnung schicken?",
        "Ich warte seit drei Tagen auf eine Nachricht.",
        "Gut, dann machen wir es morgen früh.",
    ),
    "es": (
        "Hola, necesito ayuda con mi {}.",
        "La {} se ha roto otra vez, ¿qué puedo hacer?",
        "¿Cuánto tiempo va a tardar todavía?",
        "Gracias, pero la respuesta me parece muy corta.",
        "Ah, vale, ahora lo entiendo.",
        "No, no me refería a eso.",
        "¡Perfecto, ha funcionado enseguida!",
        "¿Me puede enviar la factura por correo?",
        "Llevo tres días esperando un mensaje.",
        "Bueno, entonces lo hacemos mañana temprano.",
    ),
    "zh": (
        "你好，我的{}出了点问题。",
        "{}又坏了，我该怎么办？",
        "还要等多长时间呢？",
        "谢谢，不过你的回答太短了。",
        "哦，原来是这样，我明白了。",
        "不是，我不是这个意思。",
        "太好了，马上就能用了！",
        "请把发票寄给我，可以吗？",
        "我已经等了三天还没有消息。",
        "好的，那我们明天早上再说。",
    ),
    "en": (
        "Hello, I need some help with my {}.",
        "The {} is broken again, what can I do?",
        "How much longer is that going to take?",
        "Thanks, but your answer was too short for me.",
        "Oh, I see what you mean now.",
        "No, that is not what I meant.",
        "Great, it worked right away!",
        "Could you please send me the bill?",
        "I have been waiting for three days.",
        "Fine, then let us do it tomorrow morning.",
    ),
}
ASSISTANT = {
    "de": (
        "Gern, um welches {} handelt es sich genau?",
        "Bitte schalten Sie das {} einmal aus und wieder ein.",
        "Das dauert nach unserer Art zu rechnen etwa zwei Stunden.",
        "Entschuldigung, ich erkläre es noch einmal ausführlich.",
        "Die Kollegin ruft Sie heute Nachmittag zurück.",
        "Das kann ich von hier aus leider nicht sehen.",
        "Ich habe Ihnen soeben eine E-Mail geschickt.",
        "Am besten bringen Sie das {} in die Werkstatt.",
        "Also, fast alle Geräte haben diesen Fehler.",
        "Freut mich, dass es jetzt wieder geht.",
    ),
    "es": (
        "Con gusto, ¿de qué {} se trata exactamente?",
        "Por favor, apague la {} y vuelva a encenderla.",
        "Suele tardar unas dos horas en total.",
        "Perdone, se lo explico otra vez con más detalle.",
        "Mi compañera le llamará esta misma tarde.",
        "Lo siento, desde aquí no puedo verlo.",
        "Acabo de mandarle un correo electrónico.",
        "Lo mejor es que lleve la {} al taller.",
        "Casi todos los aparatos tienen este fallo.",
        "Me alegro de que ya funcione.",
    ),
    "zh": (
        "好的，请问是哪一个{}？",
        "请先把{}关掉，然后再打开。",
        "一般来说大概需要两个小时。",
        "对不起，我再详细解释一遍。",
        "我的同事今天下午会给您打电话。",
        "很抱歉，我在这边看不到这个信息。",
        "我刚刚给您发了一封邮件。",
        "最好把{}送到维修店去看看。",
        "几乎所有的机器都有这个毛病。",
        "能用就好，很高兴帮到您。",
    ),
    "en": (
        "Sure, which {} is it exactly?",
        "Please turn the {} off and on again.",
        "That usually takes about two hours.",
        "Sorry, let me explain it once more in detail.",
        "My colleague will call you back this afternoon.",
        "I am afraid I cannot see that from here.",
        "I have just sent you an email.",
        "You had better take the {} to the workshop.",
        "Nearly all of these machines have this fault.",
        "I am glad that it works again.",
    ),
}


def dialogue(language: str, number: int, turns: int = 8) -> list[str]:
    """Turns of user and assistant; ``de+en``: the user speaks the first language, the assistant the second."""
    chance = random.Random(f"{language} {number}")
    asking, answering = (language.split("+") * 2)[:2]
    said = []
    for turn in range(turns):
        spoken, of = (answering, ASSISTANT) if turn % 2 else (asking, USER)
        said.append(chance.choice([text for text in of[spoken] if not said or text != said[-1]]))
        said[-1] = said[-1].format(chance.choice(SLOTS[spoken]))
    return said


def of_20_words(language: str, number: int) -> list[str]:
    """A dialogue that is cut after 20 words; of Chinese after 32 characters, which are about as many."""
    left, kept = 32 if language == "zh" else 20, []
    for text in dialogue(language, number):
        words = list(text) if language == "zh" else text.split()
        kept.append(("" if language == "zh" else " ").join(words[:left]))
        left -= len(words)
        if left <= 0:
            break
    return kept


def chat(language: str, number: int, **keys: object) -> dict[str, object]:
    """One rated chat in OpenAI's shape."""
    roles = ("user", "assistant")
    said = [{"role": roles[turn % 2], "content": text} for turn, text in enumerate(dialogue(language, number))]
    return {"id": f"{language}-{number:02d}", "messages": said, "score": 1 + number % 5, **keys}


def write_chats(folder: Path, *languages: str, sessions: int = 20) -> Path:
    """A file of so many chats in each language."""
    path = folder / "chats.jsonl"
    rows = [chat(language, number) for language in languages for number in range(sessions)]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path
