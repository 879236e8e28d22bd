/** `https://api.shop.example.com` → `shop.example.com` */
export function hostTitle(origin: string): string {
  return URL.canParse(origin)
    ? new URL(origin).hostname.replace(/^(?:www|api)\./, '').replace(/\.\w+$/, '')
    : 'api'
}
