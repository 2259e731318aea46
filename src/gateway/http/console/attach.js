/* attach.js -- files that go with a message: chosen, dropped or pasted. */
import { $, iconButton, make } from "./dom.js";
import { bytes, say } from "./words.js";

const largest = 20 * 1024 * 1024; /* bytes of all files of a message */

let files = []; /* [{name, type, size, url}] */
let tell = () => {};

export const attached = () => files;

function show() {
  $("files").hidden = !files.length;
  $("files").replaceChildren(...files.map((f) => make("span.chip", {},
    f.type.startsWith("image/") && f.type !== "image/svg+xml" ? make("img", { src: f.url, alt: "" }) : null,
    make("span.chip-name", { title: f.name }, f.name), make("span.quiet", {}, bytes(f.size)),
    iconButton("✕", say("attach.remove", f.name), () => setFiles(files.filter((other) => other !== f))))));
}

export function setFiles(list) {
  files = list;
  show();
}

function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

async function add(list) {
  for (const file of list) {
    if (files.reduce((sum, f) => sum + f.size, file.size) > largest) { tell(say("attach.large", bytes(largest))); return; }
    try {
      const url = await read(file), type = file.type || "application/octet-stream";
      setFiles([...files, { name: file.name || say("chat.picture"), type, size: file.size, url: url.startsWith("data:;") || !file.type ? url.replace(/^data:[^;,]*/, `data:${type}`) : url }]);
    } catch (error) {
      tell(say("attach.unread", file.name));
    }
  }
}

/* complain(text): shows an error. */
export function watchFiles(complain) {
  tell = complain;
  $("attach").addEventListener("click", () => $("attach-file").click());
  $("attach-file").addEventListener("change", () => { add([...$("attach-file").files]); $("attach-file").value = ""; });
  $("say").addEventListener("paste", (event) => {
    const found = [...event.clipboardData.files];
    if (!found.length) return;
    event.preventDefault();
    add(found);
  });
  const view = $("view-chat");
  view.addEventListener("dragover", (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    $("field").classList.add("drop");
  });
  view.addEventListener("dragleave", () => $("field").classList.remove("drop"));
  view.addEventListener("drop", (event) => {
    $("field").classList.remove("drop");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    add([...event.dataTransfer.files]);
  });
}

/* The members of a message that hold the files. */
export function filesBody(list) {
  const images = list.filter((f) => f.type.startsWith("image/")).map((f) => f.url);
  const others = list.filter((f) => !f.type.startsWith("image/")).map((f) => ({ name: f.name, url: f.url }));
  return { ...(images.length && { images }), ...(others.length && { files: others }) };
}

/* The same as blocks of a message, to be shown. */
export function filesBlocks(list) {
  return list.map((f) => ({ type: f.type.startsWith("image/") ? "image" : f.type.startsWith("audio/") ? "audio" : "document",
    media_type: f.type, name: f.name, data: f.url.slice(f.url.indexOf(",") + 1) }));
}
