"""SARIF documents against the standard's types: every property is one of the standard's, and has its type."""

import json

import pytest
from mistakes import EXAMPLES
from sexpgpu.cli.sexpc import main

sarif = pytest.importorskip("sarif_pydantic")


@pytest.mark.parametrize("change", [("", ""), ("(mse ", "(mse 1 "), (":batch-size 32", ":batch-size 32.0"),
                                    ("(field :y)]", "(field :y) (field :z)]"), ("zeros)))", "zeros))"),
                                    ('"w" [3]', '"w" [4]')], ids=lambda c: c[1] or "clean")
def test_a_document_is_sarif(change, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (EXAMPLES / "linear/experiment.sexp").read_text(encoding="utf-8")
    (tmp_path / "an experiment é.sexp").write_text(text.replace(*change), encoding="utf-8")
    main(["check", "an experiment é.sexp", "--format", "sarif"])
    document = json.loads(capsys.readouterr().out)
    known = sarif.Sarif.model_validate(document)
    assert known.model_dump(mode="json", by_alias=True, exclude_unset=True) == document
    results = document["runs"][0]["results"]
    assert bool(results) == bool(change[1])
    for result in results:
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert uri == "an%20experiment%20%C3%A9.sexp"
