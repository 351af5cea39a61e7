"""Release documents: exact round trip, refusal of damaged and newer files, schema in step."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privgmm.releases.document as document
from privgmm import InputError, Mixture, Release
from privgmm.datasets import synthetic
from privgmm.model import fit
from privgmm.model.components import ComponentMixture
from privgmm.releases import Guarantee, Mechanism


def example(classes=("a", "b", "c"), seed=0):
    x, y = synthetic(200, 3, 2, seed)
    m = fit(x, y)
    mixture = Mixture(m.weights, m.means, m.covariances, classes)
    steps = (Mechanism("cells", 12, 1.5, 5.6, 0.268),)
    guarantee = Guarantee("proven", "label", "label", 1.0, 1e-5, 0.268, True, steps, ("N",))
    return Release(mixture, guarantee, ("height", "weight"), "risk")


@settings(max_examples=25)
@given(st.integers(0, 9999), st.sampled_from([("a", "b", "c"), (1, 2, 3), ("é<b>", 2, True)]))
def test_round_trip_is_exact_to_the_last_bit(seed, classes):
    before = example(classes, seed)
    after = document.parse(document.dump(before).encode(), "file")
    for name in ("weights", "means", "covariances"):
        left, right = getattr(before.mixture, name), getattr(after.mixture, name)
        assert left.tobytes() == right.tobytes()
    assert after.mixture.classes == before.mixture.classes
    assert [type(c) for c in after.mixture.classes] == [type(c) for c in classes]
    assert after.guarantee == before.guarantee
    assert (after.feature_names, after.label_name) == (("height", "weight"), "risk")
    assert after.software == before.software


def test_save_and_load_sample_alike(tmp_path):
    before = example()
    before.save(tmp_path / "r.json")
    after = Release.load(tmp_path / "r.json")
    np.testing.assert_array_equal(before.sample(50, seed=1)[0], after.sample(50, seed=1)[0])
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


def test_every_single_byte_change_is_refused_or_harmless():
    data = document.dump(example()).encode()
    rng = np.random.default_rng(0)
    reference, refused = document.parse(data, "file"), 0
    for _ in range(2000):
        position, byte = rng.integers(len(data)), rng.integers(256)
        changed = data[:position] + bytes([byte]) + data[position + 1 :]
        try:
            got = document.parse(changed, "file")
        except InputError:
            refused += 1
        else:  # white space only
            assert got.mixture.means.tobytes() == reference.mixture.means.tobytes()
            assert got.guarantee == reference.guarantee
    assert refused > 1000


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mu", 0.0),
        ("sigma", -1.0),
        ("coordinates", 0),
        ("coordinates", True),
        ("query", 3),
        ("x", 1),
    ],
)
def test_a_mechanism_is_checked_field_by_field(field, value):
    content = json.loads(document.dump(example()))
    content["guarantee"]["mechanisms"][0][field] = value
    content.pop("sha256")
    content["sha256"] = document._digest(content)
    with pytest.raises(InputError, match="not a valid"):
        document.parse(json.dumps(content).encode(), "file")


@pytest.mark.parametrize("keep", [0, 1, 100, -3])
def test_truncated_files_are_refused(keep):
    with pytest.raises(InputError, match="cut off"):
        document.parse(document.dump(example()).encode()[:keep], "file")


@pytest.mark.parametrize(
    "data",
    [b"[]", b"{}", b"[" * 100_000, b'{"format": "privgmm-release"}', b"\xff\xfe", b"1" * 10_000],
)
def test_what_is_not_a_release_is_one_sentence(data):
    with pytest.raises(InputError) as caught:
        document.parse(data, "file")
    assert "\n" not in str(caught.value)


def forged(**changes):
    """A document with other content but a right digest, as an attacker could write it."""
    body = json.loads(document.dump(example()))
    del body["sha256"]
    body.update(changes)
    body["sha256"] = document._digest(body)
    return json.dumps(body).encode()


def test_newer_versions_ask_for_an_upgrade():
    with pytest.raises(InputError, match="upgrade privgmm"):
        document.parse(forged(version=document.VERSION + 1), "file")


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 0},
        {"mixture": {"classes": [1], "weights": [1], "means": [[0]], "covariances": [[[-1]]]}},
        {"mixture": {"classes": [1], "weights": [2], "means": [[0]], "covariances": [[[1]]]}},
        {"mixture": None},
        {"features": []},
        {"features": ["one"]},
        {"extra": 1},
    ],
)
def test_content_is_validated_even_with_a_right_digest(changes):
    with pytest.raises(InputError, match="not a valid"):
        document.parse(forged(**changes), "file")


def test_the_shipped_schema_is_the_model_s():
    shipped = Path(document.__file__).with_name("release.schema.json")
    assert json.loads(shipped.read_text()) == document.schema()


def test_large_files_and_missing_files_are_refused(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="Cannot read"):
        Release.load(tmp_path / "none.json")
    monkeypatch.setattr(document, "LARGEST_FILE", 100)
    example().save(tmp_path / "r.json")
    with pytest.raises(InputError, match="larger than"):
        Release.load(tmp_path / "r.json")


def test_column_names_must_be_distinct():
    with pytest.raises(InputError, match="distinct"):
        Release(example().mixture, example().guarantee, ("risk", "b"), "risk")
    with pytest.raises(InputError, match="2 names"):
        Release(example().mixture, example().guarantee, ("b",), "risk")


def test_sklearn_export_has_the_same_density():
    release = example()
    x, _ = release.sample(100, seed=0)
    model = release.to_sklearn()
    np.testing.assert_allclose(model.score_samples(x), release.mixture.log_density(x), rtol=1e-10)
    np.testing.assert_allclose(model.predict_proba(x), release.mixture.predict_proba(x), atol=1e-10)
    assert model.sample(5)[0].shape == (5, 2)


@pytest.mark.parametrize("names", [("a", "\ud800"), ("a", 5), ("a", None)])
def test_names_that_no_file_can_hold_are_refused(names):
    """JSON keeps a lone surrogate as an escape, and the document would not load again."""
    whole = example()
    with pytest.raises(InputError, match="valid UTF-8 text"):
        Release(whole.mixture, whole.guarantee, names)


def with_components():
    plain = example()
    m = plain.mixture
    parts = Mixture(
        np.append(m.weights, 0) * [0.5, 1, 1, 0] + [0, 0, 0, m.weights[0] / 2],
        np.vstack([m.means, m.means[:1]]) + np.array([[0.1, 0], [0, 0], [0, 0], [-0.1, 0]]),
        np.concatenate([m.covariances, m.covariances[:1]]),
    )
    model = ComponentMixture(parts, [0, 1, 2, 0], m.classes)
    return Release(model.moments(), plain.guarantee, ("height", "weight"), "risk", components=model)


def test_components_come_back_to_the_last_bit():
    before = with_components()
    after = document.parse(document.dump(before).encode(), "file")
    assert after.model.owners.tolist() == [0, 1, 2, 0]
    for name in ("weights", "means", "covariances"):
        left, right = getattr(before.model.parts, name), getattr(after.model.parts, name)
        assert left.tobytes() == right.tobytes()
    assert after.model.parts.feature_names == ("height", "weight")
    assert example().components is None
    assert "components" not in json.loads(document.dump(example()))


@pytest.mark.parametrize(
    "change",
    [
        {"owners": [0, 1, 2, 3]},
        {"owners": [0, 0, 2, 0]},
        {"weights": [0.25] * 4},
        {"means": [[0.0, 0.0]] * 4},
        {"more": 1},
    ],
)
def test_components_that_do_not_add_up_to_the_classes_are_refused(change):
    body = json.loads(document.dump(with_components()))
    body["components"].update(change)
    body["sha256"] = document._digest(body)
    with pytest.raises(InputError, match="not a valid"):
        document.parse(json.dumps(body).encode(), "file")


@pytest.mark.parametrize("version", [1, 2])
def test_older_documents_load_by_the_digest_they_were_written_with(version):
    import hashlib

    body = json.loads(document.dump(example()))
    del body["sha256"]
    body["version"] = version
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    body["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    loaded = document.parse(json.dumps(body).encode(), "file")
    assert loaded.mixture.means.tobytes() == example().mixture.means.tobytes()
    assert loaded.model.components_per_class.tolist() == [1, 1, 1]
    # The newer rule gives another digest, and a newer document is not checked by the older one.
    body["version"] = 3
    with pytest.raises(InputError, match="changed or damaged"):
        document.parse(json.dumps(body).encode(), "file")


def test_the_digest_is_that_of_rfc_8785():
    """The example of RFC 8785, section 3.2.2 and 3.2.3."""
    import hashlib

    content = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"\u002f",
        "literals": [None, True, False],
    }
    canonical = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert (
        document._digest({**content, "sha256": "?"})
        == hashlib.sha256(canonical.encode()).hexdigest()
    )


def test_numbers_that_other_languages_round_are_refused():
    with pytest.raises(InputError, match="beyond 2\\^53"):
        document.dump(example(classes=(2**53 + 1, 2, 3)))


def test_scikit_learn_gets_all_components():
    known = with_components()
    model = known.to_sklearn()
    X = known.sample(50, seed=0)[0]
    np.testing.assert_allclose(model.score_samples(X), known.model.log_density(X))
    assert model.n_components == 4
