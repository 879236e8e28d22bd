/** Lines of a chart; both axes are logarithmic, so that a straight line is a power. */
export interface Curve {
  /** File name without its ending. */
  name: string
  title: string
  x: string
  y: string
  lines: { name: string; points: [x: number, y: number][] }[]
}

const WIDTH = 640
const HEIGHT = 340
const PLOT = { left: 64, right: 470, top: 44, bottom: 284 }
const COLOURS = ['#2f9e6e', '#1c7ed6', '#868e96', '#e8590c', '#9c36b5', '#c92a2a', '#5c940d', '#0b7285']

/** An SVG of a curve, for light and dark pages: it has a background of its own. */
export function chart({ title, x, y, lines }: Curve): string {
  const drawn = lines.filter(({ points }) => points.length > 0)
  const all = drawn.flatMap(({ points }) => points)
  const across = scale(
    all.map(([at]) => at),
    PLOT.left,
    PLOT.right,
  )
  const up = scale(
    all.map(([, value]) => value),
    PLOT.bottom,
    PLOT.top,
  )
  const grid = [
    ...across.ticks.map((tick) => {
      const at = across.at(tick)
      const text = `<text x="${at}" y="${PLOT.bottom + 20}" text-anchor="middle">${short(tick)}</text>`
      return `<path class="grid" d="M${at} ${PLOT.top}V${PLOT.bottom}"/>${text}`
    }),
    ...up.ticks.map((tick) => {
      const at = up.at(tick)
      const text = `<text x="${PLOT.left - 8}" y="${at + 4}" text-anchor="end">${short(tick)}</text>`
      return `<path class="grid" d="M${PLOT.left} ${at}H${PLOT.right}"/>${text}`
    }),
  ]
  const curves = drawn.map(({ name, points }, i) => {
    const colour = COLOURS[i % COLOURS.length]
    const places = points.map(([at, value]) => `${across.at(at)} ${up.at(value)}`)
    const dots = places.map((place) => {
      const [cx, cy] = place.split(' ')
      return `<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`
    })
    const row = PLOT.top + 14 + i * 20
    const key = `<path d="M${PLOT.right + 12} ${row - 4}h16" stroke="${colour}" stroke-width="2"/>`
    const label = `<text x="${PLOT.right + 34}" y="${row}">${escaped(name)}</text>`
    const line = `<path d="M${places.join('L')}" fill="none" stroke="${colour}" stroke-width="2"/>`
    return [line, ...dots, key, label].join('')
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-labelledby="t">`,
    `<title id="t">${escaped(title)}</title>`,
    '<style>text { font: 12px system-ui, sans-serif; fill: #1f2933 } .grid { stroke: #d9e2ec } .head { font-size: 14px; font-weight: 600 }</style>',
    `<rect x=".5" y=".5" width="${WIDTH - 1}" height="${HEIGHT - 1}" rx="8" fill="#fff" stroke="#cbd2d9"/>`,
    `<text class="head" x="16" y="26">${escaped(title)}</text>`,
    ...grid,
    ...curves,
    `<text x="${(PLOT.left + PLOT.right) / 2}" y="${HEIGHT - 14}" text-anchor="middle">${escaped(x)}</text>`,
    `<text transform="translate(18 ${(PLOT.top + PLOT.bottom) / 2}) rotate(-90)" text-anchor="middle">${escaped(y)}</text>`,
    '</svg>',
    '',
  ].join('\n')
}

/** A logarithmic axis from `from` to `to`, whose ends are the powers around the values, at most a half or a fifth wider. */
function scale(values: readonly number[], from: number, to: number) {
  const positive = values.filter((value) => value > 0)
  const least = step(Math.min(...positive, Number.MAX_VALUE), Math.floor)
  const most = Math.max(step(Math.max(...positive, 1), Math.ceil), least * 2)
  const [low, high] = [Math.log10(least), Math.log10(most)]
  const ticks: number[] = []
  const wide = high - low > 2
  for (let power = Math.floor(low); power <= high; power++)
    for (const factor of wide ? [1] : [1, 2, 5]) {
      const tick = factor * 10 ** power
      if (tick >= least * 0.999 && tick <= most * 1.001) ticks.push(tick)
    }
  const at = (value: number) =>
    Math.round((from + ((Math.log10(Math.max(value, least)) - low) / (high - low)) * (to - from)) * 10) / 10
  return { ticks, at }
}

/** The next 1, 2 or 5 times a power of ten. */
function step(value: number, round: typeof Math.floor): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const steps = [1, 2, 5, 10].map((factor) => factor * power)
  const found =
    round === Math.floor
      ? steps.filter((each) => each <= value * 1.001).at(-1)
      : steps.find((each) => each >= value * 0.999)
  return found ?? power
}

/** `1`, `50k`, `10M`, `0.2`. */
function short(value: number): string {
  if (value >= 1e6) return `${value / 1e6}M`
  if (value >= 1e3) return `${value / 1e3}k`
  return String(Number(value.toPrecision(2)))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
