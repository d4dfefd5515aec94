// Models of the page's widgets: what the Python process keeps of each, and how changes go there and back.
const JOIN = "IPY_MODEL_"; // begins the name of another model in a state

// Whether a value that arrives changes nothing; objects always count as changed, as a list may have changed inside.
const same = (before, after) => before === after && (after === null || typeof after !== "object");

// Put binary parts where the paths say.
function filled(state, paths = [], buffers = []) {
  paths.forEach((path, n) => {
    let place = state;
    for (const step of path.slice(0, -1)) place = place[step];
    place[path.at(-1)] = buffers[n];
  });
  return state;
}

// Take binary parts out of a value; their paths and contents are added to the lists.
function emptied(value, paths, buffers, path = []) {
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) {
    paths.push(path);
    buffers.push(value);
    return null;
  }
  if (Array.isArray(value)) return value.map((one, n) => emptied(one, paths, buffers, [...path, n]));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, emptied(one, paths, buffers, [...path, name])]));
}

class Model {
  constructor(page, id, kind, state) {
    Object.assign(this, { page, id, kind, state, heard: new Map(), changed: new Set() });
    this.widget_manager = { get_model: async (other) => page.model(other) };
  }

  get(name) {
    return this.state[name];
  }

  set(name, value) {
    const values = typeof name === "object" ? name : { [name]: value };
    for (const key of Object.keys(values)) this.changed.add(key);
    this.update(values);
  }

  // Values that arrive or are set: all of them are there before anybody hears of one.
  update(values) {
    const names = Object.keys(values).filter((name) => !same(this.state[name], values[name]));
    Object.assign(this.state, values);
    for (const name of names) this.tell(`change:${name}`, this, this.state[name]);
    if (names.length) this.tell("change", this);
  }

  save_changes() {
    const paths = [], buffers = [];
    const state = emptied(Object.fromEntries([...this.changed].map((name) => [name, this.state[name]])), paths, buffers);
    this.changed.clear();
    this.page.send(this.id, { method: "update", state, buffer_paths: paths }, buffers);
  }

  send(content, callbacks, buffers = []) {
    this.page.send(this.id, { method: "custom", content }, buffers);
  }

  on(names, hear) {
    for (const name of names.split(" ")) this.heard.set(name, [...(this.heard.get(name) ?? []), hear]);
  }

  off(names, hear) {
    if (!names) this.heard.clear();
    for (const name of names?.split(" ") ?? [])
      this.heard.set(name, hear ? (this.heard.get(name) ?? []).filter((one) => one !== hear) : []);
  }

  tell(name, ...words) {
    for (const hear of this.heard.get(name) ?? []) hear(...words);
  }
}

export class Models {
  constructor(send) {
    this.send = send;
    this.known = new Map();
  }

  // A model by its name, with or without what begins it in a state.
  model(name) {
    return this.known.get(name.startsWith(JOIN) ? name.slice(JOIN.length) : name);
  }

  hear({ kind, id, data }, buffers) {
    if (kind === "comm_open") this.add(id, filled(data.state, data.buffer_paths, buffers));
    else if (kind === "comm_close") this.known.delete(id);
    else if (data.method === "update_states") {
      const states = filled(data.states, data.buffer_paths, buffers);
      for (const [name, { state }] of Object.entries(states)) this.add(name, state);
    } else if (data.method === "custom") this.model(id)?.tell("msg:custom", data.content, buffers);
    else this.model(id)?.update(filled(data.state, data.buffer_paths, buffers));
  }

  add(id, state) {
    this.known.set(id, new Model(this, id, state._model_name, state));
  }
}
