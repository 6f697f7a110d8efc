"""What every chapter owes its reader: text and notebook in step, its sections, its figures, links that work.

Whether the cells still give the stored outputs is nbval's question, not asked here.
"""

import re
from pathlib import Path

import nbformat
import pytest

from autograder import twins

ROOT = Path(__file__).parents[2]
TEXTS = sorted((ROOT / "course").glob("*.md"))
CHAPTERS = [path for path in TEXTS if not path.name.startswith("00_")]
SECTIONS = ["What you will be able to do", "Before you start", "Common mistakes", "Summary", "Exercise"]
LONGEST_CELL = 40  # lines
SHORTEST_DESCRIPTION = 40  # characters of alt text

every_text = pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.stem)
every_chapter = pytest.mark.parametrize("text", CHAPTERS, ids=lambda path: path.stem)


def notebook(text):
    return nbformat.read(text.with_suffix(".ipynb"), as_version=4)


def code_cells(text):
    return [cell for cell in notebook(text).cells if cell.cell_type == "code"]


def prose(text):
    return "\n\n".join(cell.source for cell in notebook(text).cells if cell.cell_type == "markdown")


def pictures(text):
    return [
        (cell.id, output)
        for cell in code_cells(text)
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]


def without_code(markdown):
    return re.sub(r"```.*?```|`[^`\n]*`", "", markdown, flags=re.DOTALL)


def test_there_is_a_first_page_and_a_chapter():
    assert TEXTS[0].name == "00_start_here.md"
    assert CHAPTERS


@every_text
def test_text_and_notebook_say_the_same(text):
    assert twins.differences(text) == []


@every_text
def test_no_cell_is_too_long_to_take_in(text):
    sizes = {cell.id: len(cell.source.splitlines()) for cell in code_cells(text)}
    assert {name: size for name, size in sizes.items() if size > LONGEST_CELL} == {}


@every_text
def test_every_cell_has_run_in_order(text):
    ran = [cell.execution_count for cell in code_cells(text)]
    assert ran == list(range(1, len(ran) + 1))


@every_text
def test_no_output_is_a_warning_or_an_error(text):
    for cell in code_cells(text):
        for output in cell.outputs:
            assert output.output_type != "error", cell.id
            assert output.get("name") != "stderr", f"{cell.id}: {output.text}"
            assert "warning" not in str(output.get("text", "")).lower(), cell.id


@every_text
def test_no_output_names_this_machine(text):
    stored = [str(output) for cell in code_cells(text) for output in cell.outputs]
    assert not [output for output in stored if re.search(r"/home/|/root/|/tmp/|/work/|site-packages", output)]


@every_text
def test_the_first_code_cell_installs_on_colab_and_is_the_same_everywhere(text):
    first = code_cells(text)[0].source
    assert first == code_cells(TEXTS[0])[0].source
    assert 'if "google.colab" in sys.modules:\n    %pip install -q {COURSE}' in first
    assert len(re.findall(r"git\+https://", text.read_text(encoding="utf-8"))) == 1


@every_text
def test_every_picture_has_a_description(text):
    assert pictures(text), "no figure"
    for cell_id, output in pictures(text):
        description = output.metadata.get("image/png", {}).get("alt", "")
        assert len(description) >= SHORTEST_DESCRIPTION, cell_id
        assert output.data["text/plain"] == description, cell_id


@every_text
def test_relative_links_lead_somewhere(text):
    targets = re.findall(r"\]\(([^)\s]+)\)", without_code(prose(text)))
    broken = [
        target
        for target in targets
        if not re.match(r"https?://|#", target) and not (text.parent / target.partition("#")[0]).exists()
    ]
    assert broken == []


@every_text
def test_what_is_folded_is_closed_again(text):
    written = prose(text)
    assert written.count("<details>") == written.count("</details>") == written.count("<summary>")


@every_chapter
def test_a_chapter_has_its_sections_in_order(text):
    headings = re.findall(r"^## (.+)$", prose(text), flags=re.MULTILINE)
    assert [heading for heading in headings if heading in SECTIONS] == SECTIONS


@every_chapter
def test_a_chapter_says_how_long_it_runs_and_claims_no_gpu_time_by_silence(text):
    assert re.search(r"\| Minutes on a CPU \| [^|]*\d[^|]*\|", prose(text))
    assert re.search(r"\| Minutes on a GPU \| [^|]*(\d|not measured)[^|]*\|", prose(text))


@every_chapter
def test_a_chapter_asks_three_questions_each_with_a_hint_and_an_answer(text):
    questions = re.split(r"^### Try it", prose(text), flags=re.MULTILINE)[1:]
    assert len(questions) >= 3
    for question in questions:
        folded = re.findall(r"<summary>(.*?)</summary>", question.split("\n## ")[0])
        assert folded == ["Hint", "Answer"], question.splitlines()[0]


@every_chapter
def test_every_common_mistake_is_refuted_by_the_cell_after_it(text):
    cells = notebook(text).cells
    start = next(i for i, cell in enumerate(cells) if cell.source.startswith("## Common mistakes"))
    end = next(i for i, cell in enumerate(cells) if cell.source.startswith("## Summary"))
    claims = [i for i in range(start, end) if re.search(r'^\*\*"', cells[i].source, flags=re.MULTILINE)]
    assert len(claims) >= 3
    for i in claims:
        assert len(re.findall(r'^\*\*"', cells[i].source, flags=re.MULTILINE)) == 1, cells[i].id
        assert cells[i + 1].cell_type == "code" and "assert" in cells[i + 1].source, cells[i].id


@every_chapter
def test_a_chapter_is_listed_on_the_first_page_and_leads_to_an_exercise(text):
    assert f"({text.with_suffix('.ipynb').name})" in prose(TEXTS[0])
    assert re.search(r"\]\(\.\./exercises/ex\d_\w+/ex\d_\w+\.ipynb\)", prose(text).split("\n## Exercise")[1])
