import { groupBy } from '../text/index.ts'

/** Whether a query wants to know or to change something; undefined: unclear. */
export type Intent = 'read' | 'write' | undefined

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/))

/** Opening phrases of requests, by first word. */
const OPENINGS = groupBy(
  `please,hi,hello,hey,ok,so,can you,could you,would you,will you,how do i,how do we,how can i,how can we,how to,is there a way to,
i want to,we want to,i need to,we need to,i have to,we have to,i would like to,we would like to,id like to,i am trying to,help me`
    .split(/,\s*/)
    .map((opening) => opening.split(' ')),
  ([first]) => first!,
)

/** First words of a question. */
const ASKING = setOf(
  `what whats which who whos whom whose where when why how is are was were did does has am may any show list get find look see read
  fetch view search browse display retrieve download count check describe lookup query preview compare export`,
)
/** First words of two-word questions, unlike `do not delete it`. */
const ASKING_WITH = setOf('do have tell')
const ASKED = setOf('i we you they people me us')

/** First words of requests for a change, except nouns of APIs. */
const CHANGING = setOf(
  `create add make set update edit change modify delete remove drop destroy cancel stop kill start close open reopen send put write
  upload move rename merge approve accept reject deny decline invite kick archive unarchive restore enable disable lock unlock assign
  unassign schedule publish submit run trigger restart rerun retry give take pay void attach detach scale evict patch replace register
  connect disconnect block unblock ban revoke reset join leave save store share keep turn throw protect grant limit restrict log hide
  convert finish complete resolve reply answer comment tag label pause resume suspend fork clone copy import install uninstall sign
  verify capture confirm finalize expire subscribe unsubscribe follow unfollow mute snooze react`,
)
/** Words of statements, which imply a wish for change. */
const TELLING = setOf(
  `i we he she they it you me us him them my our his her their your this that must should shall not no nobody never wants needs is are
  was were will has have do does did please let everybody somebody`,
)

/** @param given words of a query */
export function intentOf(given: readonly string[]): Intent {
  let words = given
  for (let opening: readonly string[] | undefined = []; opening; ) {
    words = words.slice(opening.length)
    opening = OPENINGS.get(words[0] ?? '')?.find((one) => one.every((word, i) => word === words[i]))
  }
  const [first = '', second = ''] = words
  if (ASKING.has(first) || (ASKING_WITH.has(first) && ASKED.has(second))) return 'read'
  return CHANGING.has(first) || words.some((word) => TELLING.has(word)) ? 'write' : undefined
}
