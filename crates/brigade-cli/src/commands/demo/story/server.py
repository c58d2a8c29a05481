"""A small MCP server of the demo: notes in a file, or the time."""

import json
import sys
import time

KIND = sys.argv[1]
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = {
    "notes": [
        {"name": "find", "description": "Find notes", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
        {"name": "add", "description": "Add a note", "inputSchema": TEXT, "annotations": {"readOnlyHint": False}},
    ],
    "clock": [
        {"name": "now", "description": "The time", "inputSchema": {"type": "object"},
         "annotations": {"readOnlyHint": True}},
    ],
}


def call(name, arguments):
    if name == "now":
        return time.strftime("%H:%M", time.gmtime(0))
    if name == "add":
        with open("notes.txt", "a") as notes:
            notes.write(arguments["text"] + "\n")
        return "added"
    with open("notes.txt") as notes:
        return "".join(line for line in notes if arguments["text"] in line) or "nothing"


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": KIND, "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS[KIND]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": call(params["name"], params["arguments"])}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
