import { stemOf, wordsOf } from './stemming.ts'

/**
 * Words that people and APIs use for the same thing, a line for each group; names of products are not among them.
 * A word may stand in several groups.
 */
const TABLE = `
create, make, add, set up, store, write down, need
create, register, open, start, begin
create, build, generate, produce
create, write, compose, draft
create, issue, give
post, publish, submit, send
delete, remove, drop, destroy, erase, get rid of, throw away, take down, clear, clean up, purge, wipe
cancel, delete, remove, disable, no longer, any more, anymore, not any more
remove, kick, throw out, expel
cancel, stop, kill, abort, terminate, end, halt, give up
update, edit, change, modify, patch, set, alter, adjust, replace
update, correct, fix, improve
update, upgrade, switch
get, read, show, fetch, retrieve, view, see, display, look at
list, show, which, all, browse, enumerate
search, find, look for, look up, query, where
lookup, look up, find, who is
send, deliver, mail, email
send, tell, say, notify, post
move, transfer, hand over, relocate
rename, name, call it, call something else, another name
run, start, launch, trigger, dispatch, execute, kick off, fire
rerun, re run, retry, try again, restart, repeat, once more
enable, activate, turn on, switch on, allow
disable, deactivate, turn off, switch off, suspend, freeze, pause
mute, snooze, silence, disturb, quiet
block, ban
invite, join, add, bring into, get into, let in, new colleague
approve, accept, agree, confirm, looks good
accept, agree
reject, decline, deny, refuse, dismiss
merge, combine, accept
fork, copy, clone, duplicate
compare, diff, difference, different
assign, put in charge, responsible, owner, assignee
attach, save, link, connect
detach, unlink, disconnect, remove
upload, share, attach
download, export, save
archive, shut, retire, close
close, finish, resolve
schedule, later, tomorrow, cron, nightly, daily, every day
protect, protection, prevent, forbid
grant, permit, allow, permission, let
revoke, withdraw, take away, invalidate
expire, close, time out
reset, invalidate, sign out, log out
scale, replica
check, test, verify, try
evict, eviction, drain
pay, charge, collect, take money
refund, give back, money back, reimburse, reverse
void, cancel, mistake
capture, collect
preview, upcoming, estimate, forecast
uncollectible, write off, never pay, bad debt
subscribe, follow, watch
answer, reply, respond
replies, thread, answers
pull request, pr, merge request, change
file, change, diff
issue, ticket, bug, problem, complaint, defect
repository, repo, project
organization, org, company, organisation
directory, folder
file, document, attachment, picture
file, content
content, what is in
member, who is in
user, person, people, account
member, colleague, employee, person, user
team, group, department
user group, usergroup, group
channel, conversation, room, chat
direct message, dm, private message
message, post, text
ephemeral, private
comment, reply, answer, remark, feedback
label, tag
emoji, smiley, emoticon, icon
reaction, emoji, thumbs up, like
link, url, permalink, address
email, mail
secret, password, credential, api key
token, password, credential, api key
ssh key, public key
configuration, config, setting, preference, prefs
environment, env
variable, var
authentication, auth, login
access log, login, sign in, log in
session, sign out, log out
log, output, print, trace, stdout
event, history, activity, what happened
alert, finding, warning
vulnerability, security hole, security, cve, dependency
library, package, dependency, module
leak, leaked, exposed
notification, inbox, unread
workflow, build, pipeline, ci, run, job
artifact, build output
release, version, publish
release notes, changelog, what is new
milestone, due date, deadline, sprint
branch, ref, reference
commit, revision, checkin, check in
base, main, master, trunk
star, favourite, favorite, bookmark
snippet, gist
webhook, callback, hook
review, reviewer
customer, buyer, client, shopper
payment, money, charge, transaction
payment intent, payment, charge
payment method, card, credit card
invoice, bill
invoice item, line item
subscription, plan, monthly, every month, recurring
price, cost, rate, amount
coupon, discount, voucher, percent off
promotion code, promo code, promo
dispute, chargeback, claim
evidence, proof
payout, pay out, bank
balance, fund
top up, topup, add funds, deposit
quote, offer, proposal
product, item
tax, vat
report, statistic, stats, number, figure, analytics
traffic, view, visit, visitor, page view, how many people
checkout, payment page
portal, self service
node, machine, host, server
pod, container, instance
exec, shell, command, run a command
port forward, portforward, forward port, forward, tunnel
deployment, app, application, workload
deployment, deploy, roll out, rollout
replica, copy, instance
persistent volume, volume, disk, storage, disk space
ingress, domain
network policy, firewall, restrict traffic
autoscaler, autoscaling, auto scale, scale automatically
cron job, cronjob, schedule, nightly
disruption, maintenance
config map, configmap, configuration, setting
role, permission, access, allowed
access review, allowed to, may i, can i
quota, limit, how many
topic, subject, headline
presence, online, available, away, active
profile, status, holiday, vacation
status, state, health, condition
do not disturb, dnd, mute, snooze
reminder, remind, forget
pin, keep, stick
view, modal, dialog, form, popup, window
image, picture, photo, avatar, logo
identifier, id
restore, undelete, bring back, recover, undo
unarchive, restore, reopen
unlock, reopen
resume, continue, unpause
rotate, renew
verify, prove, validate, confirm
finalize, complete, finish
submit, hand in
resolve, done, solved, fixed, finished
close, fixed, done
remove, leave, left, offboard, quit, fired
invite, onboard, newcomer, new hire
compare, what changed, changed
watch, subscribe, keep an eye on
scale, more copies, fewer copies, copies
exec, terminal, console, ssh into
merge, bring in, take in, land
update, bring up to date, refresh
update, lower, raise, increase, decrease
convert, turn into
dispatch, trigger, manually
message, say, write, tell, announcement
channel, conversation, talk
history, so far, since
presence, around, active
snooze, leave alone
file, picture, photo, screenshot, pdf
reminder, forget, alarm
session, sign in, sign out, signed in, device
access log, signing in, who logged in
ephemeral, secretly
pull request, proposal, propose, contribution
protection, nobody may, must not, keep out
ruleset, rule
label, category, priority
issue, crash, not working, broken, wrong
issue, todo, story
collaborator, work with, helper, contributor
release, ship, publish
content, file, source, code
member, company, staff, employee
team, people, squad
block, spam, troll, abuse
traffic, popular, popularity
contributor, who made, wrote
alert, hole, insecure
job log, fail, failed, error output
subscription, every month, monthly
subscription, tier
invoice, owe
upcoming, next month
checkout session, payment page
coupon, cheaper, reduction, sale
discount, full price
price, euro, dollar
product, sell
dispute, fraud
payout, withdraw
pdf, print, printable
tax rate, vat, percent
transfer, share, vendor, marketplace
report run, numbers, table, accounting
card, employee card, company card
cardholder, employee
lost, stolen, inactive
delete, forget
customer, client, buy, bought
pod, running, run, process, program
pod, container, crash, crashed, hang
log, printed
deployment, online, app, new version
rollout, roll back
scale, load, busy
autoscaler, by itself, automatically, busy
service, address, load balancer
ingress, internet, public, website, hostname
event, what is wrong
namespace, environment, sandbox
cordon, unschedulable
node, vm
job, once, batch, import, task
persistent volume claim, disk, save data
role binding, rights, access
network policy, reach, isolate
service account, robot, bot
disruption budget, maintenance
stateful set, database, db
status, finish, ready, healthy
`

/** A group member: the stems of its words. */
export type Phrase = readonly string[]

/** What else may be said for phrases. */
export interface Synonyms {
  /** Words of the longest phrase. */
  readonly longest: number
  /** The phrases that mean about the same, by the stems of a phrase, joined by spaces. */
  of(phrase: string): readonly Phrase[]
}

let generic: ReadonlyMap<string, readonly Phrase[]> | undefined

/** The generic table, and groups that an author adds. */
export function synonymsOf(groups: readonly (readonly string[])[] = []): Synonyms {
  generic ??= mapOf(
    TABLE.trim()
      .split('\n')
      .map((line) => line.split(',')),
  )
  const base = generic
  const own = mapOf(groups)
  const longest = Math.max(...[...base.keys(), ...own.keys()].map((key) => key.split(' ').length))
  return { longest, of: (phrase) => [...(own.get(phrase) ?? []), ...(base.get(phrase) ?? [])] }
}

function mapOf(groups: readonly (readonly string[])[]): ReadonlyMap<string, readonly Phrase[]> {
  const map = new Map<string, Phrase[]>()
  for (const group of groups) {
    const phrases = group.map((text) => wordsOf(text).map(stemOf)).filter(({ length }) => length > 0)
    for (const phrase of phrases) {
      const key = phrase.join(' ')
      const others = phrases.filter((other) => other.join(' ') !== key)
      map.set(key, [...(map.get(key) ?? []), ...others])
    }
  }
  return map
}
