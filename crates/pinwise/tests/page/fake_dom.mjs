// As much of a document as the tests of the page need: elements that have attributes and children, and stay what they are. Import it before
// a script of the page makes elements.

class Node {
  parent = null;

  get textContent() {
    return this.text ?? this.children.map((child) => child.textContent).join("");
  }

  set textContent(text) {
    this.replaceChildren(String(text));
  }

  remove() {
    if (this.parent) this.parent.children = this.parent.children.filter((child) => child !== this);
    this.parent = null;
  }
}

class Text extends Node {
  children = [];

  constructor(text) {
    super();
    this.text = text;
  }
}

class Element extends Node {
  children = [];
  attributes = new Map();
  hidden = false;
  open = false;

  constructor(tag) {
    super();
    this.tag = tag;
  }

  get firstChild() {
    return this.children[0] ?? null;
  }

  get firstElementChild() {
    return this.elements[0] ?? null;
  }

  get childElementCount() {
    return this.elements.length;
  }

  get elements() {
    return this.children.filter((child) => child instanceof Element);
  }

  setAttribute(name, value) {
    this.attributes.set(name, value);
  }

  addEventListener() {}

  append(...added) {
    for (const one of added) {
      const child = one instanceof Node ? one : new Text(String(one));
      child.remove();
      child.parent = this;
      this.children.push(child);
    }
  }

  replaceChildren(...added) {
    for (const child of [...this.children]) child.remove();
    this.append(...added);
  }

  contains(other) {
    return this === other || this.elements.some((child) => child.contains(other));
  }

  // Nothing is pointed at, and no row has been reached by Tab.
  matches() {
    return false;
  }

  querySelector() {
    return null;
  }

  // All elements of that tag within it.
  all(tag) {
    return this.elements.flatMap((child) => [...(child.tag === tag ? [child] : []), ...child.all(tag)]);
  }
}

globalThis.Node = Node;
globalThis.document = { activeElement: null, createElement: (tag) => new Element(tag) };

// The parts of a view under one element.
export function shown(parts) {
  const root = new Element("main");
  root.append(...parts);
  return root;
}
