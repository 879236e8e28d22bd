/** Whatever only proxies, load balancers and content networks send, in any spelling: `_` counts as `-`. */
const SIGN_OF_A_PROXY = new RegExp(
  `^(?:${[
    'forwarded|forwarded-for|x-forwarded(?:-.*)?|via|x-via|cdn-loop|max-forwards|proxy-.*|x-proxy-?.*|x-nginx-.*',
    '(?:.*-)?(?:real|client|original|originating|remote|source|connecting)-(?:ip|addr|address|port|host)',
    'x-original-.*|x-envoy-.*|x-host|x-amzn-.*|x-amz-cf-.*|x-cloud-trace-context|x-appengine-.*|x-google-.*',
    'cf-.*|cloudfront-.*|fastly-.*|fly-.*|x-azure-.*|x-arr-.*|x-vercel-.*|x-varnish|x-akamai-.*|akamai-.*',
  ].join('|')})$`,
  'i',
)

/** Whether a header shows that a proxy has sent the request: many clients may share a connection of one. */
export function isSignOfProxy(name: string): boolean {
  return SIGN_OF_A_PROXY.test(name.replaceAll('_', '-'))
}
