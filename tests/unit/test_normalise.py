"""Which spellings are one name, and that Python's Unicode tables have no say in it."""

from __future__ import annotations

import hashlib
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from knotwork.domain import text
from knotwork.domain.normalise import MAX_NAME_CHARS, MAX_TYPE_CHARS, clean_text, normalise_name, normalise_type

ANY_TEXT = st.text(st.characters(codec=None))  # lone surrogates included
# Characters that the rules treat apart, so that they meet often.
TRICKY = st.text(
    st.sampled_from(
        "aAeézßİſςи +#-.(😀≠´½ﬁ①〇Ⅻ\0\t\n\u0301\u0307\u0308\u0323\u0338\u0345\u034f\u0488\u20e3\u1160\u3099か゛"
        "\u200b\u200c\u200d\u00ad\u202e\ufeff\ufe0f\ud800\udc00ा्हิกאָשׁاَأٓٔᾳΐᾼɫ각ᄀ\u0378\U0001e4d0\U0001e030\U0001e08f"
    ),
    max_size=12,
)
LATER = [chr(code) for first, last in text.ASSIGNED_LATER for code in range(first, last + 1)]
ARTICLES = ("the ", "a ", "an ")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # every example of the rules
        ("retry-budget", "retry budget"),
        ("Retry  Budget", "retry budget"),
        ("C", "c"),
        ("C++", "c++"),
        ("C#", "c#"),
        ("A+B", "a b"),
        ("The A Team", "a team"),
        ("Ana (engineering)", "ana engineering"),
        ("Ana (sales)", "ana sales"),
        ("苹果", "苹果"),
        ("香蕉", "香蕉"),
        ("Москва", "москва"),
        ("القاهرة", "القاهرة"),
        ("हिन्दी", "हिन्दी"),
        ("Caf\u00e9", "cafe"),
        ("Cafe\u0301", "cafe"),
        ("Straße", "strasse"),
        ("STRASSE", "strasse"),
        ("İstanbul", "istanbul"),
        ("ﬁ", "fi"),
        ("fi", "fi"),
        ("〇", "〇"),
        # the cases of names
        ("Electrons", "electrons"),
        ("An electrons", "electrons"),
        ("ELECTRONS", "electrons"),
        ("GPT-4", "gpt 4"),
        ("GPT-4o", "gpt 4o"),
        ("Boeing 737", "boeing 737"),
        ("John T. Doe", "john t doe"),
        ("Mr. Doe", "mr doe"),
        ("😀", ""),
        # diacritics, by script
        ("Ångström", "angstrom"),
        ("Åse", "ase"),
        ("Ἀθῆναι", "αθηναι"),
        ("ᾼ", "α"),
        ("Йод", "иод"),
        ("שָׁלוֹם", "שלום"),
        ("القَاهِرَة", "القاهرة"),
        ("الرحمٰن", "الرحمن"),
        ("أحمد", "أحمد"),
        ("آسيا", "آسيا"),
        ("กำแพง", "กํ\u0e32แพง"),
        ("น้ำ", "น\u0e49ํา"),
        ("か\u3099", "が"),
        ("\uff76\uff9e", "ガ"),
        ("हि\u0301", "हि\u0301"),  # no Latin, Greek or Cyrillic letter below it
        # format characters; a zero-width space is a space
        ("ret\u00adry", "retry"),
        ("\ufeffretry", "retry"),
        ("\u200eretry\u200f", "retry"),
        ("क्\u200dष", "क्ष"),
        ("e\u200d\u0301", "e"),
        ("retry\u200bbudget", "retry budget"),
        # what people see as nothing is nothing
        ("❤\ufe0f", ""),
        ("\u3164", ""),
        ("", ""),
        ("--", ""),
        ("++", ""),
        ("\ue000", ""),  # private use
        ("\ud800", ""),
        ("≠", ""),
        ("O´Brien", "o brien"),
        ("葛\U000e0100", "葛"),
        # + and #
        ("C++ / CLI", "c++ cli"),
        ("C++11", "c 11"),
        ("C#/F#", "c# f#"),
        ("C＃", "c#"),
        ("#hashtag", "hashtag"),
        ("A + B", "b"),
        ("C ++", "c"),
        ("हि++", "हि++"),
        ("C+#", "c+#"),
        ("C++-", "c++"),
        # articles
        ("the", "the"),
        ("The.", "the"),
        ("A +", "a"),
        ("the the who", "the who"),
        ("The-Beatles", "beatles"),
        ("Theatre", "theatre"),
        ("Plan A", "plan a"),
        ("Over the top", "over the top"),
        # numbers of all kinds
        ("½", "1 2"),
        ("m²", "m2"),
        ("\u2183\u0301", "\u2184"),
        ("①", "1"),
        ("Ⅻ", "xii"),
        # unassigned code points belong to words, noncharacters too
        ("a\u0378b", "a\u0378b"),
        ("x\uffff", "x\uffff"),
        ("nul\0l", "null"),
    ],
)
def test_a_name_has_one_right_form(name: str, expected: str) -> None:
    assert normalise_name(name) == unicodedata.normalize("NFC", expected)


def test_names_in_other_scripts_do_not_meet() -> None:
    names = ["苹果", "香蕉", "Москва", "القاهرة", "हिन्दी", "हिनदी", "हनद", "กา", "กิ", "أ", "إ", "ا"]
    assert len({normalise_name(name) for name in names}) == len(names)


def test_a_name_over_the_limit_names_nothing() -> None:
    assert normalise_name("x" * MAX_NAME_CHARS) == "x" * MAX_NAME_CHARS
    assert normalise_name("x" * (MAX_NAME_CHARS + 1)) == ""
    assert normalise_name("  The " + "x" * MAX_NAME_CHARS + "!!") == "x" * MAX_NAME_CHARS


def test_canonically_equal_spellings_meet() -> None:
    for code in (*range(0xC0, 0x600), *range(0x900, 0xE80), *range(0x1E00, 0x2000), *range(0xAC00, 0xAC80)):
        name = f"x{chr(code)}y"
        assert normalise_name(unicodedata.normalize("NFD", name)) == normalise_name(name), hex(code)


@given(ANY_TEXT | TRICKY)
@example("the the who")
def test_a_normalised_name_is_clean_and_stays_as_it_is_but_for_its_article(name: str) -> None:
    once = normalise_name(name)
    assert len(once) <= MAX_NAME_CHARS
    assert once == unicodedata.normalize("NFC", once)
    assert all(char in " +#" or text.category(char)[0] in "LMN" or text.category(char) == "Cn" for char in once)
    assert once == once.strip()
    assert "  " not in once
    twice = normalise_name(once)
    # One article is dropped at a time: this is why a stored name is never normalised again.
    assert twice == once or (once.startswith(ARTICLES) and twice == once.partition(" ")[2])


@given(ANY_TEXT | TRICKY, st.sampled_from("-_/.,:;|'\"\\`\t\n\u200b\u2019·"))
def test_every_separator_does_what_a_space_does(name: str, separator: str) -> None:
    assert normalise_name(name.replace(" ", separator)) == normalise_name(name)


@given(ANY_TEXT | TRICKY, st.sampled_from("\u200c\u200d\u00ad\u202e\ufeff\u2060"), st.integers(0, 12))
def test_a_format_character_anywhere_changes_nothing(name: str, invisible: str, position: int) -> None:
    decomposed = unicodedata.normalize("NFD", clean_text(name))
    assert normalise_name(decomposed[:position] + invisible + decomposed[position:]) == normalise_name(decomposed)


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("Person, Artist", "person-artist"),
        ("a`b", "a-b"),
        ("", "unknown"),
        (" \n", "unknown"),
        ("--", "unknown"),
        ("Incident Report", "incident-report"),
        ("--Team--", "team"),
        ("Caf\u00e9", "caf\u00e9"),
        ("Cafe\u0301", "caf\u00e9"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("हिन्दी", "हिन्दी"),
        ("m²", "m"),  # a number, but no digit
        ("v2", "v2"),
        ("नि२", "नि२"),
        ("a:b|c", "a-b-c"),
        ("\ud800", "unknown"),
        ("x" * MAX_TYPE_CHARS, "x" * MAX_TYPE_CHARS),
        ("x" * (MAX_TYPE_CHARS + 1), None),
    ],
)
def test_a_type_has_one_right_form(type_: str, expected: str | None) -> None:
    assert normalise_type(type_) == expected


@given(ANY_TEXT | TRICKY)
def test_a_normalised_type_stays_as_it_is_and_holds_no_separator(type_: str) -> None:
    once = normalise_type(type_)
    if once is not None:
        assert normalise_type(once) == once
        assert once
        assert not set(once) & set(":|` \\")


def test_lone_surrogates_are_replaced_pairs_are_joined_and_nul_is_dropped() -> None:
    assert clean_text("a\ud800b\udfff") == "a\ufffdb\ufffd"
    assert clean_text("\ud83d\ude00\ud83d") == "😀\ufffd"
    assert clean_text("a\0b\n") == "ab\n"


@given(ANY_TEXT)
def test_clean_text_can_be_stored_and_stays_as_it_is(raw: str) -> None:
    clean = clean_text(raw)
    assert clean.encode().decode() == clean
    assert "\0" not in clean
    assert clean_text(clean) == clean


def test_the_table_of_later_code_points_covers_the_tables_of_this_python() -> None:
    assert unicodedata.unidata_version in {"14.0.0", "15.0.0", "15.1.0"}, (
        "this Python reads newer Unicode tables: add what they assign to text.ASSIGNED_LATER, or ids change"
    )


def test_code_points_assigned_after_unicode_14_are_kept_as_they_are() -> None:
    assert len(LATER) == 5116
    for char in LATER:
        assert text.category(char) == "Cn"
        assert text.first_word_of_name(char) == ""
        assert normalise_name(f"É{char}E\u0301+") == f"e{char}e+"  # no separator, mark or format character
        assert normalise_type(f"É{char}") == f"é{char}"
        assert normalise_name(f"{char}\u0301") == f"{char}\u0301"  # as on any letter of another script


def test_later_code_points_neither_decompose_nor_compose_nor_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    # What this Python has always known stands for what a newer one has come to know.
    monkeypatch.setattr(text, "_LATER", re.compile("([\u0301\u0323Ａß\u00e5]+)"))
    assert text.category.__wrapped__("ß") == "Cn"
    assert text.first_word_of_name("ß") == ""
    assert text.nfkd("ÅＡåＢ") == "A\u030aＡåB"
    assert text.nfc("e\u0301A\u030a") == "e\u0301Å"
    assert text.nfkd("e\u0301\u0323") == "e\u0301\u0323"  # not reordered either
    assert text.casefold("ẞßA") == "ssßa"
    assert text.capitalise("ßa") == "ßa"


def test_names_come_out_of_every_python_alike() -> None:
    # Recorded on 3.11; equal on 3.12 and 3.13. Each code point in contexts that show category, case and composition.
    digest = hashlib.sha256()
    for char in [*map(chr, range(0x2E00)), *LATER]:
        for name in (f"x{char}\u0301", f"{char}+{char}"):
            digest.update(f"{normalise_name(name)}\n".encode())
        digest.update(f"{normalise_type(char)}\n".encode())
    assert digest.hexdigest() == "526787debadad11dcdb556a38c848cecd93ddaa226194eb0ed4fe56a2892b7df"
