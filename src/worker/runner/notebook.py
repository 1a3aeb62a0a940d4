"""Reads a notebook of any format as nbformat 4.5 in memory; the file itself is never touched."""
import json
import warnings

import nbformat


class End(Exception):
    """The run is over: the end record."""

    def __init__(self, outcome, message, cell=None):
        super().__init__(message)
        self.record = {"type": "end", "outcome": outcome, "message": message, **({} if cell is None else {"cell": cell})}


def read_notebook(path):
    """The notebook as nbformat 4.5 in memory, the ids that its source has, and its format as "major.minor"."""
    raw = read_json(path)
    major, minor = raw.get("nbformat"), raw.get("nbformat_minor", 0)
    if not isinstance(major, int) or not isinstance(minor, int) or isinstance(major, bool):
        raise End("NotebookInvalid", 'the file is not a notebook: "nbformat" must be an integer')
    if major not in (2, 3, 4):
        raise End("NotebookInvalid", f"notebook format {major}.{minor} is not supported (2 to 4 are)")
    where = "cells" if major == 4 else "worksheets"
    if not isinstance(raw.get(where), list):
        raise End("NotebookInvalid", f'the notebook has no list "{where}"')
    source_cells = raw["cells"] if major == 4 else []
    ids = [cell.get("id") if isinstance(cell, dict) else None for cell in source_cells]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            notebook = nbformat.convert(nbformat.reader.reads(json.dumps(raw)), 4)
            mend_metadata(notebook.metadata)
            if notebook.nbformat_minor < 5:
                notebook = nbformat.v4.upgrade(notebook, notebook.nbformat, notebook.nbformat_minor)
            _, notebook = nbformat.validator.normalize(notebook, relax_add_props=True)
            nbformat.validate(notebook, relax_add_props=True)
    except nbformat.ValidationError as error:
        raise End("NotebookInvalid", f"the notebook is not valid: {locate(error)}") from None
    except Exception as error:
        raise End("NotebookInvalid", f"the notebook cannot be read: {type(error).__name__}: {error}") from None
    if len(ids) != len(notebook.cells):
        ids = [None] * len(notebook.cells)
    return notebook, [value if isinstance(value, str) else "" for value in ids], f"{major}.{minor}"


def mend_metadata(metadata):
    """Fills in what many tools leave out of the metadata: no reason to refuse a notebook whose cells are fine."""
    for key, names in (("kernelspec", ("name", "display_name")), ("language_info", ("name",))):
        value = metadata.get(key)
        if not isinstance(value, dict):
            metadata.pop(key, None)
            continue
        for name in names:
            if not isinstance(value.get(name), str):
                value[name] = ""


def read_json(path):
    try:
        with open(path, encoding="utf-8-sig") as file:
            raw = json.load(file)
    except UnicodeDecodeError as error:
        raise End("NotebookInvalid", f"the notebook is not UTF-8: byte {error.start}") from None
    except (json.JSONDecodeError, RecursionError) as error:
        place = f" at line {error.lineno} column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deep"
        raise End("NotebookInvalid", f"the notebook is not JSON: {reason}{place}") from None
    if not isinstance(raw, dict):
        raise End("NotebookInvalid", "the notebook is not a JSON object")
    return raw


def locate(error):
    """`cells[3].source: 5 is not of type 'string'`, of a schema error."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in getattr(error, "relative_path", []))
    message = str(getattr(error, "message", error)).splitlines()[0]
    if len(message) > 300:
        message = message[:300] + "…"
    return f"{path.lstrip('.')}: {message}" if path else message


def notebook_record(notebook, ids, version, kernel_name, language, stored_outputs):
    cells = []
    for index, cell in enumerate(notebook.cells):
        item = {
            "index": index,
            "id": ids[index],
            "type": {"code": "Code", "markdown": "Markdown"}.get(cell.cell_type, "Raw"),
            "tags": tags_of(cell),
            "source": cell.source,
        }
        if stored_outputs and cell.cell_type == "code":
            item["storedOutputs"] = cell.get("outputs", [])
        cells.append(item)
    return {"type": "notebook", "kernelName": kernel_name, "language": language, "nbformat": version, "cells": cells}


def tags_of(cell):
    tags = cell.metadata.get("tags", [])
    return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []


def as_dict(value):
    return value if isinstance(value, dict) else {}
