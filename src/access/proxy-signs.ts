/** Headers that only proxies, load balancers and CDNs send; `_` counts as `-`. */
const SIGN_OF_A_PROXY = new RegExp(
  `^(?:${[
    '(?:x-)?(?:http-)?(?:x-)?forward(?:ed)?(?:-.*)?|(?:x-)?(?:\\w+-)?via|cdn-.*|max-forwards|(?:x-)?proxy-?.*|x-nginx-.*',
    '(?:.*-)?(?:real|client|original|originating|remote|source|src|connecting|edge)-?(?:ip|addr|address|port|host|proto|cert|user)',
    'x-original-.*|x-envoy-.*|x-host|x-scheme|x-url-scheme|x-script-name|x-request-start|front-end-https|early-data',
    'x-amzn-.*|x-amz-cf-.*|x-cloud-trace-context|x-appengine-.*|x-google-.*|x-goog-.*|x-serverless-.*|surrogate-.*',
    'cf-.*|cloudfront-.*|fastly-.*|fly-.*|x-azure-.*|x-arr-.*|x-vercel-.*|x-varnish|x-akamai-.*|akamai-.*|tailscale-.*',
    '(?:x-)?ssl-.*|x-auth-request-.*|x-webauth-.*|x-kong-.*|x-consumer-.*|x-replaced-path|x-haproxy-.*|incap-.*|x-sucuri-.*',
  ].join('|')})$`,
  'i',
)

/** Whether a header shows that a proxy sent the request, so that clients may share its connection. */
export function isSignOfProxy(name: string): boolean {
  return SIGN_OF_A_PROXY.test(name.replaceAll('_', '-'))
}
