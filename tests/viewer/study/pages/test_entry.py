from random import Random
from urllib.parse import urljoin

import pytest

from tests.viewer.study.asking import Caller
from tests.viewer.study.served import study_served

REASON = "I would talk to A again, since it listens and asks. The others do not."


def test_from_a_link_to_the_first_item(study):
    caller = Caller(study.address)
    page = caller.get(f"a/{study.tokens['a001']}")
    assert page.path == "/consent" and "What is kept of you" in page.text
    page = caller.press(page)
    assert page.path == "/instructions" and "strictly prohibited" in page.text
    page = caller.press(page)
    assert page.path == "/item/1" and "<h1>Practice</h1>" in page.text


def test_without_consent_nothing_begins(study):
    caller = study.caller()
    page = caller.get("consent")
    form = [pair for pair in page.forms.hidden() if pair[0] != "agree"]
    assert caller.post("consent", form).path == "/consent"
    assert caller.get("item/1").path == "/consent" and caller.get("instructions").path == "/consent"
    assert not any(one.consented for one in study.store.annotators())


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites_forms(study):
    caller = Caller(study.address)
    answer = caller._ask("GET", urljoin(study.address, f"a/{study.tokens['a001']}"), None, {})
    cookie = answer.headers["set-cookie"]
    assert answer.status == 303 and answer.headers["location"] == "../"
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Secure" not in cookie
    assert (
        "no-store" in answer.headers["cache-control"]
        and "default-src 'self'" in answer.headers["content-security-policy"]
    )


def test_who_is_somebody_else_already_is_asked_first(study):
    caller, other = study.caller("a001"), study.tokens["a002"]
    before = dict(caller.cookies)
    page = caller.get(f"a/{other}")
    assert page.status == 200 and "begun by another link" in page.text and caller.cookies == before
    assert caller.get(f"a/{study.tokens['a001']}").path == "/consent"  # Their own is no question.
    forged = [("token", "0" * 64)]
    assert caller.post(f"a/{other}", forged).status == 403 and caller.cookies == before
    assert caller.post("a/" + "x" * 32, page.forms.hidden()).status == 404
    elsewhere = caller.post(f"a/{other}", page.forms.hidden(), Origin="https://other.example")
    assert elsewhere.status == 403 and caller.cookies == before
    caller.press(page)
    assert set(caller.cookies.values()) == {other}


@pytest.mark.parametrize(
    ("headers", "asked"),
    [
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "document"}, False),  # A link in a mail.
        ({"Sec_Fetch_Site": "none", "Sec_Fetch_Dest": "document"}, False),
        ({}, False),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "iframe"}, True),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "image"}, True),
    ],
)
def test_another_site_that_shows_a_link_makes_nobody_of_this_browser(study, headers, asked):
    caller = Caller(study.address)
    page = caller.get(f"a/{study.tokens['a001']}", **headers)
    assert ("another site has opened this link" in page.text) == asked == (not caller.cookies)
    if asked:
        assert caller.press(page).path == "/consent" and caller.cookies


@pytest.mark.parametrize("path", ["", "consent", "instructions", "item/1", "thanks"])
def test_without_a_link_there_is_nothing_to_see(study, path):
    page = Caller(study.address).get(path)
    assert page.status == 403 and "Open the link that you were given" in page.text


def test_a_link_that_is_none(study):
    page = Caller(study.address).get("a/" + "x" * 32)
    assert page.status == 404 and "No annotator of this study has this link" in page.text
    stranger = Caller(study.address)
    stranger.cookies = dict.fromkeys(study.caller().cookies, "x" * 32)
    assert stranger.get("item/1").status == 403


def test_a_study_without_a_public_link(study):
    assert Caller(study.address).get("public").status == 404
    assert Caller(study.address).post("public", [("own", "x" * 32)]).status == 404


@pytest.mark.parametrize(("parameter", "person"), [("PROLIFIC_PID", "5f3c9a"), ("workerId", "A2XYZ")])
def test_a_platform_names_its_annotators(public, parameter, person):
    caller = Caller(public.address)
    page = caller.get(f"public?{parameter}={person}&assignmentId=3X&STUDY_ID=9")
    assert len(public.store.annotators()) == 3  # Nothing is kept of who has only looked.
    page = caller.press(page)
    assert page.path == "/instructions"
    assert person in [one.id for one in public.store.annotators()]
    again = caller.get(f"public?{parameter}={person}")
    assert again.path == "/instructions"


def test_who_comes_without_a_platform_gets_a_number_and_another_person_in_the_same_browser_another(public):
    caller = Caller(public.address)
    caller.press(caller.get("public"))
    assert caller.get("public").path == "/instructions"
    assert caller.get("public?PROLIFIC_PID=other").path == "/public"
    assert [one.id for one in public.store.annotators() if one.consented] == ["a004"]


def test_agreeing_twice_makes_one_annotator(public):
    caller = Caller(public.address)
    page = caller.get("public?workerId=W1")
    form = page.forms.hidden()
    assert caller.post("public", form).path == "/instructions"
    other = Caller(public.address)  # The first answer never arrived: no cookie was set.
    assert other.post("public", form).path == "/instructions"
    assert [one.id for one in public.store.annotators() if one.consented] == ["W1"]


def test_nobody_goes_on_as_another_by_naming_them(public):
    first = Caller(public.address)
    first.press(first.get("public?workerId=W1"))
    thief = Caller(public.address)
    page = thief.press(thief.get("public?workerId=W1"))
    assert page.status == 409 and "has begun already" in page.text and not thief.cookies
    assert "<h1>You have begun already</h1>" in page.text and "Go on where you stopped" not in page.text


def test_the_public_link_lets_in_so_many(public):
    pages = []
    for _ in range(4):
        caller = Caller(public.address)
        pages.append(caller.press(caller.get("public")))
    assert [page.status for page in pages] == [200, 200, 200, 410]
    assert "as many people as it needs" in pages[-1].text and "Go on where you stopped" not in pages[-1].text


def test_the_public_link_holds_a_rate_limit(tmp_path):
    with study_served(tmp_path / "study", public=True, each=2) as running:
        pages = []
        for _ in range(3):
            caller = Caller(running.address)
            pages.append(caller.press(caller.get("public")))
        assert [page.status for page in pages] == [200, 200, 429]
        assert "quarter of an hour" in pages[-1].text
        assert len([one for one in running.store.annotators() if one.consented]) == 2


@pytest.mark.parametrize("asked", ["public", "public?PROLIFIC_PID=p1", "public?PROLIFIC_PID=p1&SESSION_ID=2"])
def test_who_has_finished_and_opens_the_public_link_again_sees_the_code_again(public, asked):
    caller = Caller(public.address)
    page = caller.press(caller.press(caller.get("public?PROLIFIC_PID=p1")))
    for number in range(len(public.store.places("p1"))):
        form = page.forms
        page = caller.post(page.path, [*form.hidden(), *form.answers(Random(number), REASON)])
    code = public.study.settings.completion
    assert page.path == "/thanks" and code in page.text
    again = caller.get(asked)
    assert again.path == "/thanks" and code in again.text


def test_a_preview_on_mturk_cannot_begin(public):
    page = Caller(public.address).get("public?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE")
    assert "This is a preview" in page.text and "<form" not in page.text


def test_what_a_platform_calls_somebody_has_to_be_an_id(public):
    caller = Caller(public.address)
    page = caller.press(caller.get("public?workerId=%3Cscript%3Ealert(1)%3C/script%3E"))
    assert page.status == 409 and "<script>alert" not in page.text


def test_a_form_of_the_public_link_that_no_page_gave(public):
    caller = Caller(public.address)
    assert caller.post("public", [("own", "short"), ("agree", "yes")]).status == 400
    assert caller.post("public", [("own", "x" * 32), ("agree", "yes"), ("token", "0")]).status == 403
    page = caller.get("public")
    assert caller.post("public", [pair for pair in page.forms.hidden() if pair[0] != "agree"]).path == "/public"


def test_who_finds_no_item_left_is_turned_away_and_nothing_is_kept(tmp_path):
    with study_served(
        tmp_path / "study", "pairs", public=True, annotators_per_item=1, items_per_annotator=30, checks_every=0
    ) as running:
        first = Caller(running.address)
        first.press(first.get("public?PROLIFIC_PID=p1"))
        for _ in range(2):  # A day later, when items are free again, the same id may come in.
            late = Caller(running.address)
            assert late.press(late.get("public?PROLIFIC_PID=p2")).status == 410 and not late.cookies
        assert "p2" not in [one.id for one in running.store.annotators()]


def test_ids_that_are_given_here_are_no_platform_s(tmp_path):
    with study_served(tmp_path / "study", "pairs", public=True) as running:
        caller = Caller(running.address)
        assert caller.press(caller.get("public?PROLIFIC_PID=Simulated-001")).status == 409
        assert not [one.id for one in running.store.annotators() if "imulated" in one.id]
