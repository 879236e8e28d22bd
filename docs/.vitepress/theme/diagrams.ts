// A script, not a module: it defines a global name.
import script from '@mermaid-js/tiny/dist/mermaid.tiny.js?url'

interface Mermaid {
  initialize(options: object): void
  render(id: string, text: string): Promise<{ svg: string }>
}

/** Texts of the diagrams, as a drawing takes the place of its text. */
const texts = new WeakMap<Element, string>()
let drawn = 0
let loading: Promise<Mermaid> | undefined

/** Draws the diagrams of the page in the colors of the theme. */
export async function draw(isDark: boolean): Promise<void> {
  const diagrams = [...document.querySelectorAll('.diagram')]
  if (!diagrams.length) return
  loading ??= load()
  const mermaid = await loading
  mermaid.initialize({ startOnLoad: false, theme: isDark ? 'dark' : 'default', securityLevel: 'strict' })
  for (const diagram of diagrams) {
    const text = texts.get(diagram) ?? diagram.textContent ?? ''
    texts.set(diagram, text)
    const { svg } = await mermaid.render(`diagram-${drawn++}`, text)
    diagram.innerHTML = svg
  }
}

function load(): Promise<Mermaid> {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement('script'), { src: script })
    element.addEventListener('load', () => resolve((globalThis as unknown as { mermaid: Mermaid }).mermaid))
    element.addEventListener('error', () => reject(new Error(`${script} does not load`)))
    document.head.append(element)
  })
}
