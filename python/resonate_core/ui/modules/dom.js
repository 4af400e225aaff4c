// Makes an element with a text: a text never becomes markup.

export function html(name, classes, text = null, attributes = {}) {
  const element = document.createElement(name);
  if (classes) element.className = classes;
  if (text !== null) element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}
