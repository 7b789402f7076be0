import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.collect.agent.spooled import decode
from tracelode.collect.agent import chunks

BOUNDS = {
    "u1": (0, 255),
    "u4": (0, 2**32 - 1),
    "u8": (0, 2**64 - 1),
    "i4": (-(2**31), 2**31 - 1),
    "i8": (-(2**63), 2**63 - 1),
}
TEXTS = {"name", "owner", "shapes", "types", "stack"}


def cell(column: str, code: str) -> st.SearchStrategy[int]:
    """What may stand in a column; texts are given by two numbers, or none."""
    return st.sampled_from((0, 1, chunks.NONE)) if column in TEXTS else st.integers(*BOUNDS[code])


@given(st.data(), st.lists(st.text(), min_size=2, max_size=2))
def test_what_is_encoded_is_decoded(data: st.DataObject, names: list[str]) -> None:
    table = data.draw(st.sampled_from(("range", "op", "tensor")))
    columns = chunks.TABLES[table][1]
    rows = data.draw(st.lists(st.tuples(*(cell(*column) for column in columns)), min_size=1, max_size=20))
    encoded = [chunks.encode_schema(0, 7), chunks.encode_text({"what": "ünï", "names": names}, 1, 7)]
    texts = [text.encode("utf-8", "replace") for text in names]
    encoded.append(chunks.encode_names(list(enumerate(texts)), 2, 7))
    encoded.append(chunks.encode_rows(table, [value for row in rows for value in row], 3, 7))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "python.spool"
        path.write_bytes(b"".join(encoded))
        found = decode(path)
    assert found.said("ünï")["names"] == names
    told = dict(enumerate(text.decode() for text in texts)) | {chunks.NONE: None}
    expected = [
        {name: told[value] if name in TEXTS else value for (name, _), value in zip(columns, row, strict=True)}
        for row in rows
    ]
    assert found.rows[table] == expected
    assert [len(chunk) % 8 for chunk in encoded] == [0] * 4
