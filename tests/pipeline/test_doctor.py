import sys

from apportion.pipeline.config import usable_cores
from apportion.pipeline.doctor import examine


def test_keys_are_named_and_never_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    findings = {finding.name: finding for finding in examine()}
    assert findings["OPENAI_API_KEY"].text == "set"
    assert findings["HF_TOKEN"].state == "missing"
    assert "sk-canary" not in repr(findings)


def test_proxies_are_named_without_their_login(monkeypatch):
    for name in ("http_proxy", "all_proxy", "https_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "me:secret@proxy.example:3128")
    told = [finding.text for finding in examine() if finding.name == "proxy"]
    assert told == [
        "the environment variable HTTPS_PROXY names http://proxy.example:3128; a language model is asked through it "
        "only where decompose.llm.proxy names it"
    ]


def test_the_needed_packages_and_models_are_there():
    findings = {finding.name: finding for finding in examine()}
    for name in ("torch", "openai", "reward backbone", "face detector", "cores", "disk"):
        assert findings[name].state == "ok", findings[name]
    assert "gpu" in findings


def test_a_missing_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("apportion.pipeline.doctor.NEEDED", ("no-such-package",))
    findings = {finding.name: finding for finding in examine()}
    assert findings["no-such-package"].state == "warning"
    assert "pip install" in findings["no-such-package"].text


def test_the_emotion_model_is_found_or_the_command_named(monkeypatch, tmp_path):
    findings = {finding.name: finding for finding in examine()}
    assert findings["onnxruntime"].state == "ok" and "CPU" in findings["onnxruntime"].text
    assert findings["emotion model"].state == "missing"
    assert "apportion models fetch emotion" in findings["emotion model"].text
    monkeypatch.setattr("apportion.pipeline.doctor.resolve_emotion_model", lambda setting: tmp_path / "m.onnx")
    findings = {finding.name: finding for finding in examine()}
    assert (findings["emotion model"].state, str(tmp_path / "m.onnx") in findings["emotion model"].text) == ("ok", True)


def test_the_face_mesh_is_found_or_the_command_named(monkeypatch, tmp_path):
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path))
    findings = {finding.name: finding for finding in examine()}
    assert findings["face mesh"].state == "missing"
    assert findings["face mesh"].text == "not here; haar stands in for it: apportion models fetch mesh"
    monkeypatch.setattr("apportion.pipeline.doctor.find_mesh", lambda: tmp_path / "mesh")
    findings = {finding.name: finding for finding in examine()}
    assert (findings["face mesh"].state, findings["face mesh"].text) == ("ok", f"{tmp_path / 'mesh'} (verified)")


def test_two_builds_of_onnxruntime_at_once_are_warned_of(monkeypatch):
    monkeypatch.setattr("apportion.pipeline.doctor._version", lambda name: "1.2.3")
    findings = {finding.name: finding for finding in examine()}
    assert findings["onnxruntime"].state == "warning"
    assert "docs/guides/install.md" in findings["onnxruntime"].text


def test_no_onnxruntime_at_all(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    findings = {finding.name: finding for finding in examine()}
    assert findings["onnxruntime"].state == "warning"
    assert "pip install onnxruntime" in findings["onnxruntime"].text


def test_cores_where_the_system_does_not_say_which_may_be_used(monkeypatch):
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    assert usable_cores() == 6
