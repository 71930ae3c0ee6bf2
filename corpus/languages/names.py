"""Languages as the column ``language`` writes them: ISO 639-1 codes, ``de+en`` where two are spoken."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from apportion.foundation.errors import UnitError
from apportion.foundation.truncate import shortened

ENGLISH = "en"
TOGETHER = "+"
_NAMES = (
    "af Afrikaans, ar Arabic, az Azerbaijani, be Belarusian, bg Bulgarian, bn Bengali, bs Bosnian, ca Catalan, "
    "cs Czech, cy Welsh, da Danish, de German, el Greek, en English, es Spanish, et Estonian, eu Basque, fa Persian, "
    "fi Finnish, fr French, ga Irish, gl Galician, gu Gujarati, he Hebrew, hi Hindi, hr Croatian, hu Hungarian, "
    "hy Armenian, id Indonesian, is Icelandic, it Italian, ja Japanese, jv Javanese, ka Georgian, kk Kazakh, km Khmer, "
    "kn Kannada, ko Korean, ky Kyrgyz, la Latin, lo Lao, lt Lithuanian, lv Latvian, mk Macedonian, ml Malayalam, "
    "mn Mongolian, mr Marathi, ms Malay, mt Maltese, my Burmese, ne Nepali, nl Dutch, no Norwegian, pa Punjabi, "
    "pl Polish, ps Pashto, pt Portuguese, ro Romanian, ru Russian, si Sinhala, sk Slovak, sl Slovenian, so Somali, "
    "sq Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil, te Telugu, th Thai, tl Tagalog, tr Turkish, "
    "uk Ukrainian, ur Urdu, uz Uzbek, vi Vietnamese, zh Chinese, zu Zulu"
)
NAMES = MappingProxyType({code: name for code, _, name in (one.partition(" ") for one in _NAMES.split(", "))})
"""English names by code: the languages that are told apart by their words."""
_BY_NAME = {name.lower(): code for code, name in NAMES.items()}
_OTHER_CODES = {
    "eng": "en", "deu": "de", "ger": "de", "spa": "es", "fra": "fr", "fre": "fr", "ita": "it", "por": "pt",
    "rus": "ru", "jpn": "ja", "kor": "ko", "nld": "nl", "dut": "nl", "tur": "tr", "pol": "pl", "swe": "sv",
    "ara": "ar", "zho": "zh", "chi": "zh", "cmn": "zh", "yue": "zh", "wuu": "zh", "nb": "no", "nn": "no", "iw": "he",
    "us": "en", "gb": "en", "jp": "ja", "cn": "zh", "tw": "zh", "dk": "da", "cz": "cs", "gr": "el", "ua": "uk",
}  # fmt: skip
"""ISO 639-2 and -3 for the languages that are written so most often, parts of one language, and countries."""
_CODE = re.compile(r"[a-z]{2,3}(?:[-_][a-z0-9]+)*")


def codes(language: str | None) -> frozenset[str]:
    """The languages that the column names, each by its shortest code; empty where it names none.

    >>> sorted(codes("de+en-GB")), codes("eng"), codes("jp"), codes(None)
    (['de', 'en'], frozenset({'en'}), frozenset({'ja'}), frozenset())
    """
    parts = (part.strip().lower() for part in (language or "").split(TOGETHER))
    return frozenset(_code(part) for part in parts if part)


def is_foreign(language: str | None) -> bool:
    """Whether another language than English is spoken, as far as is known."""
    return not codes(language) <= {ENGLISH}


def understands(understood: Collection[str] | None, language: str | None) -> bool:
    """Whether who understands these languages (None: all) understands a session in ``language`` (None: not known)."""
    return understood is None or codes(language) <= set(understood)


def in_words(language: str | None) -> str:
    """The languages by name, for a sentence.

    >>> in_words("de+en"), in_words("gsw")
    ('German and English', 'gsw')
    """
    parts = [_code(part.strip().lower()) for part in (language or "").split(TOGETHER)]
    return " and ".join(dict.fromkeys(NAMES.get(part, part) for part in parts)) or "no known language"


def read_language(value: object) -> str | None:
    """What somebody wrote as a language, as the column holds it; None for nothing.

    >>> read_language("German"), read_language("pt-BR"), read_language("de+en")
    ('de', 'pt-BR', 'de+en')

    Raises UnitError: It names no language.
    """
    if value is None or value == "":
        return None
    parts = [part.strip() for part in value.split(TOGETHER)] if isinstance(value, str) else []
    if not parts or not all(part.lower() in _BY_NAME or _CODE.fullmatch(part.lower()) for part in parts):
        raise UnitError(
            f"language {shortened(str(value))!r}: no language. Give a code such as en, de or pt-BR, an English name, "
            "or de+en where two are spoken."
        )
    return TOGETHER.join(dict.fromkeys(_BY_NAME.get(part.lower(), part) for part in parts))


def said_language(values: Mapping[str, Any]) -> str | None:
    """What stands under ``language`` or ``lang`` in a chat or in metadata, as text; whether it is one is seen later."""
    value = next((values[key] for key in ("language", "lang") if values.get(key)), None)
    return None if value is None else str(value)


def _code(part: str) -> str:
    primary = re.split("[-_]", part)[0]
    return _BY_NAME.get(part) or _OTHER_CODES.get(primary, primary)
