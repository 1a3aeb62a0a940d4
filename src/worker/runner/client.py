"""nbclient's client with a cap on what a cell may print, in time linear in what it prints."""
import asyncio
import json
from queue import Empty

from nbclient import NotebookClient
from nbclient.client import CellExecutionComplete, ensure_async

from outputs import size_of

MAX_CELL_OUTPUT_BYTES = 4 << 20
MAX_OUTPUT_BYTES = 24 << 20
MAX_CELL_OUTPUTS = 4000
# zeromq drops what is beyond: enough for a flood of small prints while the machine is busy
MAX_WAITING_MESSAGES = 100_000
# The same on the kernel's side, whose mark of 1,000 messages is passed in a moment while this process waits for a processor
WIDEN_IOPUB = "(lambda t: t.schedule(lambda: t.socket.setsockopt(23, %d)))(get_ipython().kernel.iopub_thread)" % MAX_WAITING_MESSAGES
WIDEN_SECONDS = 5
# After its reply a kernel that is silent for so long has nothing left to say: the rest was lost, which is told.
IOPUB_SILENCE_SECONDS = 15
OUTPUT_TYPES = {"stream", "display_data", "execute_result", "error", "update_display_data"}


class Client(NotebookClient):
    """Notes the reply, which alone decides failure. Streams grow in place, one for each name: their texts are lists
    until coalesce joins them."""

    def __init__(self, notebook, **options):
        super().__init__(notebook, allow_errors=True, store_widget_state=False, record_timing=False, **options)
        self.on_cell_executed = self.note_reply
        self.total_bytes = self.messages = 0
        self.begin_cell()

    def begin_cell(self):
        self.reply, self.idle, self.cell_bytes, self.truncated, self.streams = None, False, 0, False, {}

    def note_reply(self, cell, cell_index, execute_reply):
        self.reply = execute_reply["content"]

    async def async_start_new_kernel_client(self):
        await super().async_start_new_kernel_client()
        self.kc.iopub_channel.socket.rcvhwm = MAX_WAITING_MESSAGES
        if self.nb.metadata.get("kernelspec", {}).get("language", "python") == "python":
            await self.widen_iopub()
        return self.kc

    async def widen_iopub(self):
        """What a kernel that is no ipykernel makes of it does not matter: it is asked in silence."""
        sent = self.kc.execute(WIDEN_IOPUB, silent=True, store_history=False)
        try:
            while (await ensure_async(self.kc.shell_channel.get_msg(timeout=WIDEN_SECONDS)))["parent_header"].get("msg_id") != sent:
                pass
        except Empty:
            pass

    async def _async_poll_for_reply(self, msg_id, cell, timeout, task_poll_output_msg, task_poll_kernel_alive):
        while True:
            reply = await ensure_async(self.kc.shell_channel.get_msg(timeout=None))
            if reply["parent_header"].get("msg_id") == msg_id:
                break
        seen = -1
        while not task_poll_output_msg.done() and seen != self.messages:
            seen = self.messages
            await asyncio.wait({task_poll_output_msg}, timeout=IOPUB_SILENCE_SECONDS)
        if task_poll_output_msg.done():
            task_poll_output_msg.result()
        task_poll_output_msg.cancel()
        task_poll_kernel_alive.cancel()
        return reply

    async def _async_poll_output_msg(self, parent_msg_id, cell, cell_index):
        socket, session = self.kc.iopub_channel.socket, self.kc.session
        while True:
            _, frames = session.feed_identities(await socket.recv_multipart())
            self.messages += 1
            if self.messages % 100 == 0:
                await asyncio.sleep(0)  # what has come already is received without a pause for the timeouts
            if self.truncated and json.loads(bytes(frames[1]))["msg_type"] == "stream":
                continue
            msg = session.deserialize(frames)
            if msg["parent_header"].get("msg_id") == parent_msg_id:
                try:
                    self.process_message(msg, cell, cell_index)
                except CellExecutionComplete:
                    return

    def process_message(self, msg, cell, cell_index):
        kind, content = msg["msg_type"], msg["content"]
        if kind in OUTPUT_TYPES:
            room = min(MAX_CELL_OUTPUT_BYTES - self.cell_bytes, MAX_OUTPUT_BYTES - self.total_bytes)
            full = len(cell.outputs) >= MAX_CELL_OUTPUTS and kind != "update_display_data" and content.get("name") not in self.streams
            size = size_of(content)
            if full or size > room:
                self.truncated = True
            if full or (size > room and kind != "stream"):
                return None
            self.cell_bytes += min(size, room)
            self.total_bytes += min(size, room)
            if kind == "stream":
                content["text"] = content["text"][:room]
        if kind == "status" and content.get("execution_state") == "idle":
            self.idle = True  # the last message of a cell: all of its outputs were read
        clearing = self.clear_before_next_output
        hooks = self.output_hook_stack[msg["parent_header"].get("msg_id")]
        if kind == "stream" and not clearing and not hooks and content["name"] in self.streams:
            self.streams[content["name"]]["text"].append(content["text"])
            return None
        output = super().process_message(msg, cell, cell_index)
        if clearing and not self.clear_before_next_output:
            self.streams.clear()
        if kind == "stream" and output is not None:
            output["text"] = [output["text"]]
            self.streams[content["name"]] = output
        return output

    def clear_output(self, outs, msg, cell_index):
        super().clear_output(outs, msg, cell_index)
        if not outs:
            self.streams.clear()
