// The page of `labkit explore`: connects to the process that makes its widgets, and shows them.
import { Models } from "./models.js";
import { viewed } from "./views.js";

const place = document.querySelector("main"), notice = document.querySelector(".lab-notice");
const { plotly } = place.dataset, TAB = "labkit-tab", CONTROL = "labkit-page";
const AGAIN = 1000; // ms between looks whether the process is back

// plotly's program loads while the process reads the campaigns; the figures then find it here.
globalThis.labkitFigures = { program: import(new URL(plotly, location.href)).then((loaded) => loaded.default) };

const dark = matchMedia("(prefers-color-scheme: dark)");
const coloured = () => (document.body.dataset.jpThemeLight = String(!dark.matches));
dark.addEventListener("change", coloured);
coloured();

// A message is text, or a head of JSON and binary parts: length of the head, head with the lengths of the parts, parts.
function packed(message, buffers) {
  if (!buffers.length) return JSON.stringify(message);
  const parts = buffers.map((one) => (ArrayBuffer.isView(one) ? new Uint8Array(one.buffer, one.byteOffset, one.byteLength) : new Uint8Array(one)));
  const head = new TextEncoder().encode(JSON.stringify({ ...message, lengths: parts.map((one) => one.byteLength) }));
  return new Blob([new Uint32Array([head.byteLength]), head, ...parts]);
}

function unpacked(data) {
  if (typeof data === "string") return [JSON.parse(data), []];
  const [size] = new Uint32Array(data.slice(0, 4)), message = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, size)));
  let at = 4 + size;
  const buffers = message.lengths.map((length) => new DataView(data.slice(at, (at += length))));
  return [message, buffers];
}

function connected() {
  const address = new URL("wire", location.href);
  address.protocol = address.protocol.replace("http", "ws");
  address.search = `?tab=${sessionStorage.getItem(TAB) ?? ""}`; // a tab that is loaded again shows what it showed
  address.hash = "";
  const socket = Object.assign(new WebSocket(address), { binaryType: "arraybuffer" });
  const say = (message, buffers = []) => socket.readyState === WebSocket.OPEN && socket.send(packed(message, buffers));
  const models = new Models((id, data, buffers) => say({ kind: "comm_msg", id, data }, buffers));
  socket.onopen = () => {
    say({ kind: "comm_open", id: CONTROL, target: "jupyter.widget.control", version: "1.0.0" });
    say({ kind: "comm_msg", id: CONTROL, data: { method: "request_states" } });
  };
  let root = "";
  addEventListener("pagehide", () => socket.close());
  socket.onmessage = ({ data }) => {
    const [message, buffers] = unpacked(data);
    if (message.kind === "root") {
      root = message.id;
      sessionStorage.setItem(TAB, message.data.tab);
    } else models.hear(message, buffers);
    if (root && place.hasAttribute("aria-busy") && models.model(root)) {
      place.removeAttribute("aria-busy");
      place.replaceChildren(viewed(models.model(root)).el);
    }
  };
  socket.onclose = lost;
}

// The process ended, or the way to it was cut: the page stays readable, and is loaded anew when the process answers.
function lost() {
  if (leaving) return;
  notice.textContent = "labkit explore ended, or this page lost its connection. Every measured point is kept. Start labkit explore again, and open the address that it prints.";
  notice.hidden = false;
  setTimeout(async () => {
    const answer = await fetch("alive").catch(() => null);
    if (answer?.ok) location.reload();
    else lost();
  }, AGAIN);
}

let leaving = false;
addEventListener("pagehide", () => (leaving = true));
connected();
