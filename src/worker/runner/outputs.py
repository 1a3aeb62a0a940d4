"""Outputs as nbformat has them: streams coalesced, sizes measured."""
import json
import re


def coalesce(outputs):
    """One stream output per name, at the place of the first, stdout before stderr when they are neighbours. The text of
    a stream may be a list of its parts."""
    merged, streams = [], {}
    for output in outputs:
        if output["output_type"] == "stream":
            known = output["name"] in streams
            text = output["text"]
            streams.setdefault(output["name"], []).extend(text if isinstance(text, list) else [text])
            if known:
                continue
        merged.append(dict(output))
    names = [output.get("name") for output in merged]
    for i in range(len(merged) - 1):
        if names[i] == "stderr" and names[i + 1] == "stdout":
            merged[i], merged[i + 1] = merged[i + 1], merged[i]
            break
    for output in merged:
        if output["output_type"] == "stream":
            output["text"] = resolve_controls("".join(streams[output["name"]]))
    return merged


def resolve_controls(text):
    """What a terminal shows of backspaces and carriage returns; the rules of nbclient's coalesce_streams, in linear time."""
    if "\b" in text:
        shown = []
        for character in text:
            if character == "\b" and shown and shown[-1] != "\n":
                shown.pop()
            elif character != "\b":
                shown.append(character)
        text = "".join(shown)
    return re.sub(r"[^\n]*\r(?=[^\n])", "", text) if "\r" in text else text


def size_of(content):
    """The bytes that a message adds to a cell's outputs, near enough for a cap."""
    if isinstance(content.get("text"), str):
        return len(content["text"])
    values = list((content.get("data") or {}).values()) + list(content.get("traceback") or [])
    return sum(len(value) if isinstance(value, str) else len(json.dumps(value, default=str)) for value in values) + 64
