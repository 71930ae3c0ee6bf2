from pipeline.doctor import examine


def test_keys_are_named_and_never_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    findings = {finding.name: finding for finding in examine()}
    assert findings["OPENAI_API_KEY"].text == "set"
    assert findings["HF_TOKEN"].state == "missing"
    assert "sk-canary" not in repr(findings)


def test_the_needed_packages_and_models_are_there():
    findings = {finding.name: finding for finding in examine()}
    for name in ("torch", "openai", "reward backbone", "face detector", "cores", "disk"):
        assert findings[name].state == "ok", findings[name]
    assert "gpu" in findings


def test_a_missing_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("pipeline.doctor.NEEDED", ("no-such-package",))
    findings = {finding.name: finding for finding in examine()}
    assert findings["no-such-package"].state == "warning"
    assert "pip install" in findings["no-such-package"].text
