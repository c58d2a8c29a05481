// Talks to the server.

let session;

/** A refusal of the server, with its document. */
export class Refusal extends Error {
  constructor(status, document) {
    super(document.error ?? `the server answered ${status}`);
    this.status = status;
    this.document = document;
  }
}

async function answered(answer) {
  if (answer.status === 401) {
    location.replace("/login");
    return new Promise(() => {});
  }
  const document = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refusal(answer.status, document);
  return document;
}

/** Reads a document. */
export async function read(path, signal) {
  return answered(await fetch(path, { signal }));
}

/** Sends a decision. */
export async function send(path, body) {
  return answered(await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Brigade-CSRF": session.csrf },
    body: JSON.stringify(body),
  }));
}

/** Reads the session. */
export async function begin() {
  session = await read("/api/session");
  return session;
}

/** Returns whether this page may do something. */
export function may(what) {
  return session.may.includes(what);
}

/** Returns a path with an id in it. */
export function at(path, id, rest = "") {
  return `${path}/${encodeURIComponent(id)}${rest}`;
}

/** Listens to changes until the page is left. */
export function listen(told, linked) {
  const source = new EventSource("/api/events");
  for (const kind of ["call", "checkpoint", "run", "runner", "decision", "task"]) {
    source.addEventListener(kind, (event) => told(kind, JSON.parse(event.data)));
  }
  source.addEventListener("hello", (event) => {
    linked(true);
    // Something may have been missed while there was no connection.
    if (!JSON.parse(event.data).complete) told("hello", {});
  });
  source.addEventListener("error", () => {
    linked(false);
    if (source.readyState === EventSource.CLOSED) {
      read("/api/session").catch(() => {});
      setTimeout(() => listen(told, linked), 3000);
    }
  });
}
