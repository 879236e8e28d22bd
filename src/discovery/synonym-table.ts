/**
 * The words of people and of APIs. A line is one meaning: either words that stand for each other, or, on the right of `=`, what
 * people say for the words of APIs on its left: those of people stand for those of APIs, and not the other way. A word may stand
 * in several lines. Articles and the like in a phrase do not matter; an indented line goes on with the one above.
 */

/** Words that stand for each other. */
export const GROUPS = `
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
`

/** What is done, and what any API may have. */
export const GENERIC = `
create, add, new = make, set up, need, start a new, open a new, put in, enter, note, write down, introduce,
  establish, spin up, bring up, there should be, from scratch, brand new, from now on, one more, another
create, register, open, start = begin, sign up, enrol, enroll
create, generate, build = produce, prepare, come up with
create, write, compose = draft
create, issue, grant = give, hand out
create, store, save = keep, put away, remember, write down, note down
post, publish, submit, send = announce, tell, tell everybody, say, let know, inform, notify, spread the word, shout
send, deliver, email = mail, forward, pass on
delete, remove = drop, destroy, erase, get rid of, throw away, throw out, take down, take off, take out, clear,
  clean up, purge, wipe, discard, scrap, bin, trash, kill, tear down, not be there, forget about, do not need,
  nobody needs, for good, no longer need, take away, take back, taken out, not needed, is not needed, not need,
  unneeded, superfluous, obsolete, outdated, useless, garbage, rubbish, has no use, by accident created, vanish,
  disappear, strike, cross out, rub out, dump, ditch, lose, kick, shred, gets rid, never existed, is over, is
  history, empty, wipe out, dispose, eliminate, expunge, get shot of, chuck, chuck out, toss, toss out, nuke, zap,
  cancel out, blow away, clear up, clear out, clean out, tear out, rip out, pull down, be gone, make go away, go
  away, do away with, leave no trace, put to sleep, was a test, was only a test, test one, duplicate one, there
  twice
remove, revoke, leave = no longer, any more, anymore, any longer, has left, is gone, not with us, kick out, lock
  out, shut out
cancel, stop, abort, terminate, end = kill, halt, give up, call off, break off, interrupt, not after all, after all,
  changed my mind, never mind, no longer want, does not want, do not want, backed out, calls off, make it stop,
  unwanted, quit
update, edit, change, modify, set, patch, replace = alter, adjust, correct, fix, improve, tweak, amend, revise,
  rewrite, instead, typo, mistake in, is wrong, has changed, has moved, moved to, exchange, swap
update, set = raise, lower, increase, decrease, is now, turn into
update, upgrade, switch = refresh, bigger, smaller, downgrade, switch over
get, read, retrieve, fetch, show, view = see, display, look at, look into, have a look, what does, what did, open
  up, details, tell about, more about, info, information, check
get, status = how is, how far, is it done, is it ready, is it finished, finished yet, done yet, going on, state of,
  come up, went through, go through, succeed, worked
list, all = show, which, browse, enumerate, overview, what are, have we got, are there, which are, give me all
list, history, log, event = what happened, what has happened, lately, recently, so far, in the last, last week,
  yesterday, who did what, what went on
search, find, query = look for, hunt, where, is there, did anybody, did somebody, did anyone, has anyone, anything
  about, do we know, mention, mentioned, talked about, know anybody, dig up
lookup, find = look up, who is behind, whose, belongs to
count, number, total = how many, how much, how often
transfer, move = hand over, relocate, pass, pass to, make over, sign over, turn over to, reassign, will belong to,
  will be theirs, take along to
rename = call something else, another name, different name, new name, is now called
run, start, launch, trigger, dispatch = execute, kick off, fire, fire off, manually, by hand, set off, get going,
  begin
rerun, re run, retry, restart, rerequest, redeliver, attempt = try again, try once more, repeat, once more, once
  again, again, another try, one more time, flaky
enable, activate = turn on, switch on, allow, let, use again, permit
disable, deactivate, suspend = turn off, switch off, freeze, pause, for now, for the time being, put on hold,
  temporarily, sold out, not offer, stolen, lost
resume, enable = continue, unpause, go on, carry on, comes back, is back, pick up again, wants back
restore, undelete, unarchive = bring back, get back, recover, undo, deleted by accident, by mistake, again need,
  need again, reopen, revive
reopen = open again, not solved, comes back, still happens
close, complete, finish, resolve, finalize = done, done with, solved, fixed, finished, ready, shut, over with, be
  through with, wrap up, make it final, tick off, check off
archive = shut, shut down, retire, mothball, put aside, nobody uses, unused
approve, accept, confirm = agree, looks good, say yes, said yes, let through, go ahead, wave through, fine with, is
  ok, green light, yes, bless, sign off, sign off on, endorse, okay, give the nod, wave in, let pass, good enough,
  can be taken, can go in, goes in, is trustworthy, trustworthy, we trust, trust
reject, decline, deny, dismiss, restrict = refuse, say no, said no, turn down, turn away, not let
block, ban, restrict = never, keep out, shut out, harass, abuse, bother, troll, spam, nasty, unwelcome, blacklist,
  never again
unblock, remove = let back in, forgive
merge = combine, take in, bring in, land, take over, accept the change, bring together, fold in, join together,
  unite, lands, put together with, bring together with
fork, copy, clone, duplicate = own copy, copy of, take a copy
compare, diff = difference, different, what changed, changed between, what is different, differ
assign, add assignee, assignee = put in charge, responsible, give to, take care, hand to, somebody should do, owner,
  who works on
attach = connect, put on, fasten, add to, tie to, apply to, use for all, use these for, put them on
attach, save, link = hang on, associate, belong to
detach, disconnect, unlink = cut off, take off, separate
upload, add file, create file = put up, share, send in, attach
download, export, archive = save to disk, get a copy, zip, on my computer, take home, all the code
share, link = let see, show to, outside, outsider, give access, let people open
invite, add member, add = bring into, get into, let in, bring in, onboard, newcomer, new hire, new colleague, get on
  board
join = enter, get in, take part, become part, let me in, get me in, take me in
leave, remove = get out of, quit, walk out
remove member, remove user, remove = offboard, has left, is gone, fired, lock out, left the company, no longer
  works, handed in his notice, handed in her notice, gave notice, got the sack, sacked, dismissed, retired, moved
  on, is leaving, says goodbye, goodbye to, part ways, off to another
kick, remove = throw out, expel, throw
schedule = later, tomorrow, next week, on monday, in an hour, plan, in the morning, on friday, at five, at noon,
  tonight, some time later, at a certain time, not now but, on its birthday, in advance, next monday, next tuesday,
  on wednesday, at midnight, in two hours, at eight, on new year, early tomorrow, the day after
lock, protect, protection, restriction = prevent, forbid, nobody may, nobody should, must not, stop people, keep
  safe, guard, not allowed
unlock = open up again, let again
grant, permission, access, role, binding = permit, let, allowed to, rights, access to, is allowed, who may, may do
revoke, invalidate, reset, delete token = withdraw, take away, must not work, make useless, leaked key
expire, expiration = run out, time out, end after, valid until, only until
void, cancel, reverse = mistake, by mistake, was wrong, made in error
check, test, verify, validate = try, try out, try whether, see if, make sure, prove, does it work
ping, test = does it hear, reach
evict, eviction, drain = move elsewhere, push off, go away from
mute, snooze, disturb, unsubscribe = silence, quiet, bother, leave alone, in peace, not hear, stop telling, annoy,
  too much noise
subscribe, subscription, watch, follow = keep an eye on, keep posted, keep informed, hear about, tell when, tell me
  about, be told, stay informed, everything that happens, keep up with
unfollow, unsubscribe = not interested
mark, read = have seen, have read, seen everything, read everything, unread, up to here
pin = keep, stick, stick to the top, at the top, keep at the top, hang up, nail, keep visible, always see first,
  stays at the top, stuck
star, bookmark = favourite, favorite, remember, save for later, find later, come back to
react, reaction = thumbs up, heart, smile, laugh, cheer
remind, reminder = forget, not forget, think of, alarm, nudge, must not forget, should think of, wake me, tell me
  at, tell me tomorrow, to do list
convert, turn = make private, turn into
scale, replica = more copies, fewer copies, copies, how many copies, more of them, five of them, grow, shrink,
  members, one more member
watch = as it happens, follow changes, subscribe, keep an eye on
request, ask = ask for, apply for, may i have, wish
preview, upcoming = what will, next time, next month, beforehand, would cost, going to pay, estimate, forecast
verify identity, verification = who he says, who she says, who they say, passport, driving licence, id card, really
  is
rotate, renew, reset = get a fresh one, new one
sync, update = catch up
create, add = get a new, launch a new, put together, come up with, lay out, plan, add another, needs its own, on its
  own, of their own, extra, additional, fresh, get started, start with, put up a, let there be, define, declare,
  assemble, construct, bring to life, bring into being, come into being, throw together, knock up, fix up,
  commission, initiate, inaugurate, instal, put in place, put down, jot down, open up a, get us a, let us have, sort
  me out with
create, register = note who, take down the name, record, first time, newcomer, joins
delete, remove, disable = no more, stop using, not used, nobody uses, nobody uses it, nobody needs, nobody calls
update, change, edit, set = should say, should be called, say something else, new address, new name, new password,
  has a new, gets a new, is different now, put right, make it better, swap out, move to, adapt, rework, wrong, wrote
  something wrong, misspelled, spelling, error in, make a change, rather, from now, ought to be, now is, renew,
  touch up, reword
get, read, show = what does it say, what is in, what is inside, what is written, how does it look, let me see, want
  to see, take a look, find out, learn about, know about, what about, how about, information about, details of,
  details about, tell more, tell me more, more about, state of, look up, describe, explain, how big, how old,
  inspect, examine, peek, glance, have a glance, check out, check on, pull up, bring up, dig out, fill me in, inform
  me, let me know about, give details, anything on, what kind of, what sort of, what happened to, when was, when
  did, when does, when is, since when, until when, how long, how come, where is, why is, why did, why does
get status, status = is it up, is it running, is it working, still running, still alive, healthy, done already,
  already there, arrived, did it work, did it get, how is it going, progress, passed, pass, did it pass, is it over,
  did we win, what became of, what came out
list = which, all of, see all, every single, what all, what kinds, how many, what have we, what is there, there are,
  do we have, who else, whose, to whom, name all, give me all, show me all, who all, the whole list, everyone,
  everybody who, anybody who, exist, so far, catalogue, list out, go through all, run through, line up, what else,
  which ones, which of our, which of the, any of, how many of, count of, anything in, at present, at the moment,
  currently, these days, on my plate, what is on
search, find = is there any, any sign of, did anyone, has somebody, did we ever, have we ever, know anybody, know
  somebody, come across, locate, trace, which contain, containing, with the word, by name, by mail, seek, search
  for, look around for, scan for, dig for, track down, hunt down, turn up, run down, called, named, with the name,
  by the name of, goes by, under the name, containing the word, contains the word, that deal with, is there a
send = let them have, drop a line, get in touch, send out, get out, push out, shoot
post, send = tell the team, tell the others, tell the world, say to, say hello, say something, let everybody know,
  let the team know, shout out, spread, wish
cancel, stop = changed their mind, changes her mind, not any more, would rather not, no longer wanted, does not
  stand, does not count, call back, hold back, hold on, withdraw, pull back, wait stop, put a stop, put an end,
  knock off, stand down, finish it off, must not happen, should not happen, no need, scrub, pull the plug, unplug,
  cut short, cut, discontinue, cease, hang, takes forever, takes too long, is stuck, stuck, runaway, drop out, bail
  out, pull out, rescind, call it off, has changed her mind, has changed his mind, decided against, does not come,
  fell through
stop, suspend, disable = make it stop, switch it off, keep from, done for today, for today, shut down, power off,
  sleep
start, resume = wake up, power on, boot, go on with, continue
enable = make available, make possible, from now on, let people use, want to use, use again, activate again, back on
disable, suspend, restrict = no longer able, not be usable, make unusable, block for now, not for now
approve, accept = may join, may come in, yes he may, yes she may, he can have, let in, let them in, take the offer,
  they want to, deal, we have a deal, that is right, is right, is honest, is genuine, is fine, nothing wrong, have
  checked, all good, go for it
reject, deny, decline, dismiss = must not join, may not join, cannot come in, not let in, keep away, do not want
  him, not welcome, not accept, does not deserve, false alarm, not a real problem, not true, rebuff, throw back,
  send back, knock back, brush off, ignore, harmless, not serious, is nothing, nothing to worry, turn away
restrict, limit, restriction, protection = only those who, only we may, only people who, only members, nobody else,
  nobody without, nothing may, unless, not without, must first, need to pass, must pass, at most, keep people from
invite, add = get him in, get her in, come in too, should see, ask to come, ask in, wants to join, let take part,
  bring along, belongs in, should join, starts on monday, starts here, starts working, first day, new in the team,
  new at, put into, put her into, put him into, make part of, is a designer now, welcome, bring, take along, let
  join, get along, should read along, read along, is new, is new here, has joined, has been hired, was hired, we
  hired, hire, hired, recruit, starting with us, first day here, wants to help
remove, kick = throw out of, does not belong, no longer part, not part of, take off the team, take from the team,
  hung up, went away, get him out, get her out, out of the room, send away, does not work, left the team, leaves the
  team, resigned, quit the job
leave = i am out, get me out, take me out, not for me, walk away
assign = should look at, should look after, takes over, will do it, should do it, has to do it, do this one, work on
  this, whose job, take care of, deal with, handle, look after, ought to handle, ought to do, should fix, should
  take, shall do, please do, hand it to, is the one, on her plate, on his plate, is yours, whose turn, her turn, his
  turn
unassign, remove assignee = not her job, no longer does it, take off her, someone else should
lock = end the discussion, nobody may answer, no more answers, stop the quarrel, people fight, people insult
move, transfer = give away, goes to, belongs to another, other owner, new owner, into other hands, send over, pass
  over
copy, fork, clone, duplicate = make the same, the same again, second one like, of my own, myself a copy, their code
  to change, take their code
compare = since last, what has changed, between the two, between two, contrast, hold against, side by side, changed
  from, what changed, changed
download, get = fetch, save it here, put on my disk, file to keep, take with me
export = take out, get out, take along, get all my data, my things, take everything with me, move away from here
import, migrate = bring in from, take from another, move from another, bring along from, pull in, get in from
convert = make out of, from public to, only insiders, change into, make private, make public, close to the public,
  turn into
mark read = seen it all, nothing new, up to here, all read, i know all
star, save = mark for me, put aside for me, read later, look at later, find it again, so that i find
subscribe, watch, follow = want to hear, always know, interested in, like what, want news, do not miss, mail me
  when, whenever something
unsubscribe, unwatch, delete subscription, unfollow = too many mails, too many messages, stop mailing, do not tell
  me, no longer interests, does not interest, leave me out, stop following
unstar, remove star = do not like, lost interest
snooze, pause, do not disturb = need quiet, need to concentrate, no calls, busy now, want to work, for an hour, till
  noon, not be disturbed, hush, no noise
end, resume = over now, i am back, back again, may disturb again, free again, can be reached, reachable
unschedule, delete scheduled = do not send, planned for tomorrow, what i planned
sign, verify = can be trusted, prove it was, really from, genuine
test, ping = dry run, send a try, does it arrive, try if, is it listening, are you there
retry, rerun, redeliver = send it once more, send again, do again, do it over, give it another go, another chance,
  one more go, run again, start over, from the top
trigger, dispatch, start, run = let it run, make it run, get it going, do it now, right now, without waiting, push
  the button, press the button
rollback, revert, reverse, restore = go back to, back to the old, as it was, as before, like before, undo, return to
  the last, take it back, get it back, must come back, come back, gave too much, sent too much
scale = need more, need five, need fewer, double, less of them, only two of them, as many as, ten of them, bigger,
  smaller, more copies, fewer copies, copies, load, busy
evict, drain, cordon = empty the machine, before repair, before we repair, away from this machine, off the machine,
  for maintenance, leave this machine
replace, update = in place of, change for, take another, put another
reply = answer to him, answer to her, say back, respond
capture = goods are out, goods left, was shipped, take the money that, now take
refund = bring back goods, came back broken, pay back, paid twice, charged twice, money again
void = should not exist
finalize, complete = make official, make it count, no more changes, ready to send, close the books
preview = what would, before we send, how it would look, how would it look, in the future, what happens if, what if,
  how much would, would it cost
detach = take off from, take from, separate from
block = stop this person, not speak to me, leave me alone, insults, insulting, annoys, annoying, rude, bad customer,
  cheater, never again take, never take, spam, troll, abuse
report = tell about a problem, complain, hand in
review = check my work, look through, go over, read through, what do you think
update, edit, set = rectify, repair, mend, tidy up, brush up, overhaul, retitle, relabel, shorten, extend, make
  longer, make shorter, postpone, put off, move forward, push back, put another, put something else, altered,
  altering, is outdated, out of date, no longer right, no longer true, got a new, has got a new, needs another,
  needs a newer, at another time, reschedule
send, post = shoot off, fire off, dispatch, drop, drop a message, write to, wish, greet, congratulate, thank,
  broadcast, pass the word, get the word out, tell people, tell my, tell our, warn, let people know, let the others
  know, put out, put into the room
disable, suspend, stop = mute, put to sleep, hibernate, take offline, no longer usable, may no longer, can no
  longer, shut off, close down
enable, start, resume = wake, get up, put back, bring online, put into service, get back online, let loose, back in
  business
restrict, limit, protect = nobody except, none but, may only, can only, no one but, just us, keep others out, fence
  off, careful with, safe from, safe against
remove member, remove from team, remove = changed teams, other team now, switched departments
list assigned, assignee, assigned = on my plate, on her plate, my tasks, my tickets, given to me
copy, fork = replicate, reproduce, mirror, play with it, play around with, try things with, start from theirs
reply, comment = get back to, react to, write back, come back to him, say about, say under, ask in
approve, review = sign off, thumbs up for
lock, close = nobody should answer, no more discussion
start, open = get a, begin a, kick off a
trigger, dispatch = set in motion, get going, get the, going without, without a push, outside of the schedule, off
  schedule, on demand
rerun, retry = hiccup, had a hiccup, have another go, another go, one more try, second try, second chance, by bad
  luck, bad luck, was just the network, network was down, for no reason, once again
restart, delete = bounce, kick it, come up anew, comes up anew, comes up fresh, anew, reboot
rollback, undo, revert, patch = go back to, back to last, back to yesterday, earlier version, version before,
  previous version, old version back
expire, end = ends on, no longer valid, runs out, is only for, make invalid
verify, check = authenticate, confirm that, is it true, true that, can we trust
count, usage, statistics, report = tally, sum up, totals, how much of, summary, how well does, how often was, how
  active
activity, statistics = how active, how busy, how lively, is it alive, still maintained, still alive project
subscribe, watch = signal, get a signal, concerns me, ring a bell, ring me
notification = concerns me, something for me, anything for me, anything new, is there news, something new, waits for
  me
restore = rescue, salvage, un delete, accidentally deleted, accidentally, want it back, need it back, have it back
remind = nag, jog my memory
share = pass around, pass around to, show others, show around, send people the, let colleagues
upload = put the, put a picture, put slides, add a picture, hand in, drop the file, place a file
download = get onto, pull down, take to my machine, store locally, locally, offline copy
resolve = done, solved, fixed, finished
close = fixed, done
remove = leave, left, offboard, quit, fired
invite = onboard, newcomer, new hire
exec = terminal, console, ssh into
update = bring up to date, refresh, lower, raise, increase, decrease
dispatch = trigger, manually
message = say, write, tell, announcement
channel = conversation, talk
history = so far, since
presence = around, active
snooze = leave alone
file = picture, photo, screenshot, pdf
reminder = forget, alarm
session = sign in, sign out, signed in, device
access log = signing in, who logged in
ephemeral = secretly
pull request = proposal, propose, contribution
protection = nobody may, must not, keep out
ruleset = rule
label = category, priority
issue = crash, not working, broken, wrong, todo, story
collaborator = work with, helper, contributor
release = ship, publish
content = file, source, code
member = company, staff, employee
team = people, squad
traffic = popular, popularity
contributor = who made, wrote
alert = hole, insecure
job log = fail, failed, error output
subscription = every month, monthly, tier
invoice = owe
upcoming = next month
checkout session = payment page
coupon = cheaper, reduction, sale
discount = full price
price = euro, dollar
product = sell
dispute = fraud
payout = withdraw
pdf = print, printable
tax rate = vat, percent
transfer = share, vendor, marketplace
report run = numbers, table, accounting
card = employee card, company card
cardholder = employee
lost = stolen, inactive
delete = forget
customer = client, buy, bought
pod = running, process, program, container, crash, crashed, hang
log = printed
deployment = online, app, new version
rollout = roll back
autoscaler = by itself, automatically, busy
service = address, load balancer
ingress = internet, public, website, hostname
event = what is wrong
namespace = environment, sandbox
cordon = unschedulable
node = vm
job = once, batch, task
persistent volume claim = disk, save data
role binding = rights, access
network policy = reach, isolate
service account = robot, bot
disruption budget = maintenance
stateful set = database, db
status = finish, ready, healthy
user, member, account, person = people, colleague, employee, staff, man, woman, guy, friend, stranger, freelancer,
  intern, boss, folks
member, organization member, user = who works here, who is here, who belongs, works for us, in the company, who is
  in
membership = be part of, belong
authenticated user, self, identity = who am i, myself, my own account
team, group, user group = people, squad, department, crew, folks, designers, developers, testers
organization, workspace, enterprise = company, organisation, firm, business, employer, whole company
admin, owner, administrator = in charge, boss, those in charge, promote, superuser, rights to everything
guest, collaborator, outside collaborator = freelancer, contractor, outsider, external, helper, friend, work with,
  from outside, partner
invitation, invite = ask to join, was asked, have been asked, asked whether, was invited, were invited, invites
profile = about myself, bio, name and address, personal data, details of a person
photo, avatar, image, icon, logo = picture, face, portrait, new look
image, file = picture, photo, screenshot
status = holiday, vacation, out of office, sick, lunch, in a meeting, mood, health, condition, state
presence, active, away = available, at her desk, at his desk, around, online, offline, gone, reach, be there
do not disturb, dnd, snooze = quiet, leave alone, peace, not be bothered, bother, do not bother, can be reached,
  focus, may i disturb, concentrate, interruptions
notification = inbox, news, unread, ping
email = mail, mail address, e mail, second mail, reach me by mail, other mail, new mail address, mail addresses
link, url, permalink, address = web address, point to, way to
public url, public = outside, everybody can see, open to all, internet, visible
private, visibility = hide, hidden, only those inside, nobody else sees, secret, from the public
message, post = say, said, wrote, write, text, note, chat, talk, announcement, sentence, a nice weekend, happy
  birthday, good luck, welcome message, something i said, thing i said, what she said, what he said
message history, history, messages = talked about, conversation so far, old messages, what was said
ephemeral message, ephemeral = only he sees, only she sees, only they see, whisper, secretly
direct message, dm, open conversation = talk alone, in private, private talk, write to him, talk with, between us
thread, replies, reply = answer, answers, discussion, reactions to, under that post
comment, reply = answer, remark, feedback, respond, response, opinion, note on
channel, conversation = room, chat, place to talk, chat room, talk, group chat
topic, purpose, description = subject, headline, line at the top, what is it for, what it is about
topic, label, tag = keyword, category
user group, usergroup = mention all of, call all of, short name for, handle for, address all
reminder = to do, alarm, not forget, note to self, to dos
emoji = smiley, emoticon, icon, little picture, funny face, own smiley, funny, funny pictures, little faces, faces,
  sticker, animated
call = video, meeting, phone, conference, ring, ring up, video talk, meet online, meeting online
view, modal, dialog = form, popup, pop up, window, screen
home tab, publish view = start page, welcome page, home page of
bot, app = robot, add on, plugin, integration, tool, extension, automaton, helper program, gadget
app, installation = plugin, add on, install, integration
session, sign out, session reset = log out, signed in, devices, logged in, sign in
access log, audit log, login = sign in, log in, who came in, who logged in, signing in
secret, token, credential = password, api key, key, pass phrase, passphrase, login data
secret, environment secret = password for the build, needs the password, keep safe, confidential
secret scanning, leaked secret = password in the code, key in the code, by accident, leak, leaked, exposed, put a
  password
token, access token = key, proof of login, pass
ssh key, public key, key = laptop, new computer, push from, computer
deploy key = machine reads the code, read the code
signing key, gpg key = signature, prove that it was me, sign commits
variable, config = setting, value, constant
configuration, setting, preference = config, prefs, options, set up
environment = staging, production, live system, test system
file, document, content = paper, attachment, pdf, sheet, manual, text
file, content, blob = source, source code, code, readme
directory, tree, folder = all files
license = may i use, terms of use, legal terms, legal
event, history, activity, audit log = what happened, who did what, happened lately, lately
event = what is wrong, went wrong, why does it not, trouble, problem, something happens, what goes on, unusual,
  anything unusual, strange, out of the ordinary, hiccups, incidents, incident, what was happening
log, output = print, printed, trace, what did it say, stdout, error message, console output
alert, finding, warning = problem found, danger, hole, weakness, risk, weak places
vulnerability, security advisory, dependabot alert, advisory = security hole, hole, weak place, cve, insecure,
  dangerous, unsafe, hacked
report, statistic, usage, metric, insight = numbers, figures, analytics, table, spreadsheet, how well, accounting
usage = used, minutes, consumed, consumption
traffic, view, visit = visitors, page views, how many people, looked at, popular, how well known
billing, usage = cost, have to pay, expensive, spend, spending, money for
limit, quota = at most, not more than, cap, restrict use, allowance, no more than, only a bit of, may only use, hog,
  hogging, eat up, eats all, takes all, use up
rate limit = how many requests, too many requests, slow down
webhook, hook = call our server, callback, tell our server, let our system know, inform our system, whenever, when
  something happens
webhook delivery, delivery = did our server get, got through, missed call
schedule, cron = every night, every day, nightly, daily, weekly, each morning, regularly, hourly, every hour
template = same as, pattern, starting point, example, copy from a sample, blueprint, same shape, ready made
identifier, id = number of, which number
certificate, certificate signing request = tls, https, ssl
priority = important, more important, urgent, before others
review = look over, have a look over, opinion
version = edition, newest, latest, up to date, how old, newer, older, newest one, last one, most recent, which is
  current, most current, present one
user, member = people here, everybody here, who is around, who works, coworker, co worker, teammate, team mate,
  workmate, newcomer, trainee, apprentice, consultant, manager, teacher, student, neighbour, person, fellow, buddy,
  folk, crew member, hire, new hires, customer service lady, programmer, engineer
user, profile, account = who is this, who is that, about this person, know about him, who is she, who is he
authenticated user, profile, update = i have a new
group, team = backend people, frontend people, mobile people, crowd, marketing people, support people, security
  people, everybody in, section, unit, task force, committee, division, club, gang of, bunch of, web crew, sales
  people
organization, workspace, team = at our place, office, whole firm
admin, administrator, owner = bosses, chief, leader, make her a boss, make him a boss, run the place, runs the
  place, person to ask, in command, all rights, more rights
regular, member, role = normal person, ordinary, no longer boss, take the rights, fewer rights, back to normal
guest, expiration, expire = until friday, only for a week, may stay until, stay until, for a month, temporary
session = everywhere, all her devices, all devices, phone stolen, lost his phone, lost her phone, lost her laptop,
  open windows
login, access log, session = came in, came in from, who used our, from which country, from which computer, who was
  in
password, secret, token, credential, key = passwords, code word, key to, access data, secret word, confidential
  data, hush
token, revoke = got stolen, someone stole, published by mistake
key, ssh, gpg = signatures, prove who, sign my work, trusted computer, new pc, new notebook
webhook, endpoint = listens, listen, our server hears, our other system, other servers, call us when, let us know
  when, notify us, tell us when, phone us, is told, are told, are told when, gets told, told when
event, log, history = who was it, who changed, over time, in the past, last time, last days, last night, the other
  day
billing, usage, cost = what does it cost, how much did, invoice from, pay for, do we pay, charged for, running costs
status, profile = gone fishing, on leave, be back, working from home, ill, on a trip, feeling, travelling, parental
  leave
presence, away, active = at the desk, gone, step out, awake, is he in, is she in, green dot
message = what i said, what i wrote, sentence, hello, good morning, greeting, news, mail in the room
channel = place for talk, corner, where we talk, talk about, discuss, discussion place, room for, rooms, new room,
  common room, corner for people, group chat, where people talk, hangout, meeting place, forum, place for
thread, reply = underneath, below that, who answered, what came back, conversation under
direct message, open = just the two of us, alone with, with only, three of us, small group, in private with
private, public, visibility = nobody outside, outside must not, strangers, from strangers, invisible, hide it, hide
  from, show to everybody, for everybody, whole world, everyone on the internet
image, photo, avatar = face, how i look, selfie, portrait, picture of me
icon, logo = picture of our company, sign of
file = document, what i shared, paper, paperwork, contract, photo, slides, presentation, sheet, spreadsheet, scan,
  slide, video, recording, bill as file, wrong picture, wrong document
public url, share, public link = people outside open, outside open, without account, without logging in, anybody
  with the link, anyone may open
remote file = from another service, from our drive, in our cloud, kept elsewhere
comment = what i noted, noted, remark, side note, scribble, write under, add a few words, say something about,
  observation, note under, annotate
reaction = liked, who liked, clap, applause, thumb, hearts, heart on, party hat, who laughed, who agreed
call, participant = hung up, rang, on the line, video talk, speak, talk by video
app, request = people ask for, want to install, add ons, tools people use, third party program
app, uninstall, delete = throw that bot, bot out, kick the bot
bot = automatic person, machine user, robot user
user group = ping all, address the designers, all designers, all of the designers, all at once, short name, gets
  pinged, ping everybody in, who gets pinged
default channel = everybody starts in, land in, start in, first room
workspace, name = our firm has, renamed our company, new company name
log = what was said, which errors, what did it print, why did it stop, why did it die, last lines, messages of the
  program, complain, complains, died, before it died, complained, complain about, grumble, last thing it said, crash
  message, stack trace
setting, preference, config = how should it behave, behave, rules for posting
limit, rate limit = how many more, how much more, left over, may i still, still allowed, calls left, remaining
description = what is it about, few words about, blurb
collaborator = buddy, wants to help, help with programming, help us program
profile, user info, user = phone number of, telephone, phone number, job title, title of, birthday, time zone
admin, owner = runs this, run this, big boss, superior, in the lead, takes charge, more power, all powers, demote,
  demoted, step down, no longer runs
status, presence, away = having lunch, at lunch, lunch break, brb, back soon, back in an hour, at the doctor, on
  vacation, on holiday, left for the day, home, asleep, gone home
do not disturb, snooze = peace until, peace and quiet, quiet until, no pings, no beeps, stop beeping, beep, ringing,
  deep work, sleep, at night
message history, messages = missed, catch me up, what was talked, was discussed, did they discuss, discussed
topic, purpose = good for, headline of, slogan, what for, theme
pin = always be visible, be visible, everyone sees first, never scroll away, on the wall, wall
workspace, organization = whole place, our place, everybody at work
secret, credential, password = login for, access key, pass, key is, here is the key, private key
token = pass for, badge, entry card
webhook = signal at, get a signal, ring our server, wake our server, tell another program, react to, triggers our
billing, cost = expense, expenses, bill for
domain = under which name, web name
statistics = graph, chart, curve
image, container image = build of the app
audit log = who looked
location = place, street, town, city, where is
account = login of
search = ever mention, write about, wrote about, when did somebody
`

/** Development, payments and clusters, with the terms that such products have in common. */
export const DOMAINS = `
repository, repo = project, code, code base, codebase, source, place for code
pull request, pr, merge request = change, contribution, proposal, proposed, propose, suggested change, patch from
pull request files, file = touched, touch, which files
requested reviewer, request reviewer = look over, ask to look, have checked by, ask to check
review, approve = looks good, comment on the change, say that it is good
issue = ticket, bug, problem, complaint, defect, crash, crashed, crashes, broken, not working, wrong, todo, story,
  task, report, error, fault, request for, not work, does not work, fails, freezes, wrong result, complaint about,
  wish, idea, problem with, tickets, annoying, left to do, still broken, still open, open problems, to be fixed,
  want fixed, request, something is broken, hiccup, fault in, flaw, glitch, misbehaves, malfunction, does nothing,
  goes wrong, is slow, too slow, fails when, blows up, hangs when, proposal for, feature wish, wishes of users,
  things to do, something to do, task for
search issues = reported before, known problem, somebody report, same problem
sub issue = smaller piece, break into pieces, part of a ticket, subtask, sub task, split up, small job, piece of
  that, part of that, part of big, belongs to the big
issue type = kind of ticket
lock issue, lock = heated, nasty, stop replying, no more comments
unlock issue = may comment again, may talk again
label = tag, sticker, category, urgent, mark as, priority, sort tickets, colour, color, stickers, mark as urgent,
  kind of, sort, sort it under, mark tickets, tag tickets
milestone = due date, deadline, sprint, next version, plan the version, by the end of, for the next version, goal,
  big goal, for version 3, for the spring release
assignee = in charge, gives to, responsible
timeline = story of, how did it go
branch, ref, reference = line of work, strand, line of development, side track
branch protection, ruleset, protection = push straight, push directly, nobody may push, nobody should push, without
  review, straight to main
commit = revision, check in, checkin, change set, who changed, what was done, last changes, done on this code, saved
  change, who altered, altered, last worked on, who last worked, who edited, last edits, recent work, latest work,
  log of the code
main, master, base = trunk, main line
tag, ref = mark a point, name for a revision, version number
tree = all files, which files
release = version, ship, publish, out for everybody, bring out, go out, rollout, version is out, bring out a
  version, put out, give out, hand out a version, newest version, which versions, users can download, download at
  present, is out, came out, announce a version, ship it, shipped, give to the users, numbered version
release asset, asset = download of a version, file of a version, downloads, installer
release notes = what is new, changelog
archive, zipball, tarball = zip, all the code
gist = snippet, piece of code, scrap of code, lines of code, few lines, short script, small script, paste, paste a,
  code scrap
contributor = who wrote, who made, who works on it, author, wrote most, helped most, most active people
blame, commit author = who wrote this line
collaborator = let push, friend push, may write to, help with code, work on my code, access to my code, see the
  code, give him access, may push, let him push, let her push, let them push, work with me on, help me with the
  code, see our code, outside help
fork = own copy, made a copy, copy of their code, their code to change, who copied
star, stargazer = fans, favourite, who likes
watcher, subscription = who keeps an eye
topic = find it by, find our project, describe project
language = programming language, written in, programming languages, how much python, how much java
readme = what is this project, manual, introduction
pages, pages site, page build = website, web site, documentation on the web, put on the web, home page, docs online
wiki = handbook
workflow, workflow run, run, job = build, pipeline, ci, tests, automation, check, compile, test run
workflow dispatch = by hand, kick off, start the build, manually
disable workflow = automation stop, stop the automation
rerun, re run failed jobs, re run = flaky, test again, failed by chance, try once more
artifact = what the build made, build output, build result, build files, binary, zip that the build made, built
  files, result of the build, zip of the build, program that was built
cache = stale, leftovers of builds, something old, builds faster, speed up, leftover, saved from earlier
runner, self hosted runner = build machine, build server, own computer, own machine, machine that builds, run builds
  on
registration token = connect a machine, let builds run
approve workflow run, pending deployment = waiting for a yes, stranger, first time contributor
job log, workflow run log = why did it fail, fail, failed, build output, error output, output of the build
deployment, deployment status = live, went live, go live, put live, roll out, released to
environment = place to deploy, staging, production, before production, place like production, live place, area for
  tests
check run, commit status, status = green tick, red cross, tick, passed, our own test system, mark as tested
check suite = all tests
codespace = development machine, dev machine, work in the browser, cloud computer, code in the browser, online
  editor, ready made machine, code in the cloud, coding in the cloud, cloud machine, cloud desk, coding on the
  tablet, machine in the browser, remote machine, temporary machine, dev box, workstation
copilot, seat = ai, assistant, ai helper, licence, programming help
dependency, package, library = module, third party
sbom, dependency graph = parts list, ingredients, bill of materials, parts are in, third party parts, made of, which
  parts
dependabot, vulnerability alert = insecure libraries, outdated libraries, libraries have holes
code scanning = analysis, bad code
security advisory = warn users, warn our users, found a hole
package, package version = upload of library, published library
migration, import = move here, bring over, from another system
interaction limit, interaction restriction = calm down
project, project item = board, kanban, planning, card on the board
project field = column, column of board
personal access token, pat = login key
follower, following = who follows, fans
markdown, render = look of text, turn into html
code of conduct = how to behave
rate limit = requests left, calls left
private registry = own package store
attestation = provenance
organization role, role = kind of rights
blocked user, block = harasses, rude
social account = find me on, other networks
discussion = forum
classroom, assignment = homework, grade, students
close issue = is solved, is fixed, works again, done with ticket, no longer happens, ticket is done, sorted out
issue comment, comment = ask the reporter, in the ticket, to the ticket, tell the reporter, under the ticket
issue event, timeline, issue = who did what, story of ticket
pull request, pull = my work into, into the product, wants to change, suggest, suggestion, offered, my code in, code
  for review, work of others, waiting for us, hand in my
merge pull request, merge = into main, put into main, go into main, it can go in, take it in, take in his, bring it
  in, put it in, take her work
close pull request, update pull request = not take this
review comment, comment = remark on a line, on this line, at this line, about line
requested reviewer = get eyes on, who should check, should look over
review, pull request review = has anybody checked, who has checked, said about my change
pull request commit, file = which files did, which files does, what does it change
branch = lines of work, work of mine, side line, own line, experiment, release line, variant, piece of work, side
  branch, offshoot
default branch, branch = main line, main one, master
branch protection = without anybody looking, straight into, rules of main, follow the rules, push straight into,
  overwrite
status check, protection = tests are green, tests must pass, unless the tests, when tests fail
deployment protection rule = say yes before, before it goes live, wait before it goes
delete branch, ref = line is finished, branch is merged, line no longer
file content, content = manual, handbook, fix a typo, readme, put this file in, store this file, write into, file in
  the project, script
tag = name this revision, mark this version, put a name on, state of today, snapshot of, today state
repository = project, projects, everything we have, code of, place where the code, programs, all our code, code that
  our company has, all the code, the old project, program, software, app code, code of the app, code of our app,
  codes, sources, where the code lives, home for the code, home for our code, someone program, library of
create repository = start a project, starting a project, new project, new program, place for our code
delete repository = old project away, project is dead
archive repository, update repository = project is finished, nobody works on it, freeze the project, read only, put
  on ice, frozen, retire the project, program is dead, end of life
visibility, update repository = hide our code, open our code, make it open, open source it, close our code
traffic, view, clone = how many visitors, interested in our project, who visits, how often was it, downloads of our
  code
license = may i use their, allowed to copy, sell their code
gitignore = should stay out
dependabot alert = which of our parts, outdated, dangerous parts, old libraries
dependency = parts, building blocks, depend, need other tickets, waits for
code scanning alert = mistakes in our code, dangerous code, weak spot, weak places, insecure code, scanner says,
  scan found, scanner found, scan results
secret scanning alert = keys in our code, passwords in our code, passwords lying around, put into the code, did
  somebody put, leaked key, leaked password, warning about a key
secret scanning custom pattern = format of our keys
workflow run = last builds, builds go through, did the tests, do the tests pass, test results, what is building, is
  building, green or red, broken build, latest build
workflow = automation, automations, robots that build, automatic jobs, process that runs, compile step
cancel workflow run = wrong build, build is stuck, stop the build, build hangs
rerun workflow = once more the build, build again, compile again
actions secret, secret = builds need, build needs the password, needed by the builds, password for builds, key for
  the builds, builds log in
actions variable, variable = setting for builds, value for builds
runner = compiled our app, compiles, machine for builds, our own hardware, own build server, build machines, builds
  on our own, where builds run, our own boxes, own boxes, build boxes, idle, computers that build, machines that
  compile, builder, builders
hosted runner = bigger build machine
actions cache, cache = builds are slow, builds use, remembered by builds
actions permissions = automations allowed
deployment = what is live, what went out, put on the server, brought to the server, latest live, went out when
copilot, content exclusion = hide from the ai
copilot seat = pay for the ai, ai licence, who uses the ai
pages = homepage, home page, our web page, manual on the web, docs on the web, project site, text on the site, blog,
  web presence, address of our documentation
organization member = everybody in the company, who belongs to us, company people
organization invitation, invitation = asked to join, have not answered, waiting to join
team = security group, backend people, group for
team repository, team permission = group may push, let the group push, code for the group
organization role = who got the right, special rights
notification = inbox, somebody talked to me, mentioned me, mentions of me
notification read = inbox is empty, empty my inbox
follower = who likes me, who reads me
project item = onto the planning board, on our planning board, on the board, board
user search = people who, programmers in, developers in
repository search = library for, popular projects about, library that, tool that can, programs for
code search = where is this function, who calls this, used in our code
package version = bad upload, upload of our, wrong upload, broken upload, docker image, old images
migration = export of my, all my things, take my data, move company
interaction limit = for a week nobody, may comment for
code security configuration = safety settings, same safety
ssh signing key, gpg key = signatures does, sign her work
close issue, update issue = put to rest, does not occur, no longer occurs, gone away, dealt with, is dealt with,
  ticket can go, taken care of
pull request = my branch, contribution, contributions, propose what, work on my branch, bring my work, get my work
  in, her work, his work
merge pull request, pull request merged = make it in, made it in, did it land, is it in yet, was it taken
pull request file = which places, how big is her, what parts does, changed lines
review comment = at line, on line, remark at, remark on, in the code of his
request reviewer = glance at, get two people, two people to, others should look
review = verdict, judgement, judge, vote
file content = next to the code, add a document, documents in the project, text of, letter in, put a document
workflow run, check run = is everything green, everything green, all green, went red, failing, did it build, does it
  build, did the build, state of the build, builds of today
secret = pipeline needs, robot needs the key, for our pipeline
dependabot alert, vulnerability = known hole, exploit, exploitable, patch available
organization member, member = handed in, everybody on board, all of us, who is with us
team member = web crew, in the crew
search users = programmers in, programmers who, experts, who knows, who can program
community profile = healthy project, project needs, all that a project needs, does the project have
traffic = audience, are people interested, hits, clicks
environment, deployment = stage, stages
deploy key = server reads the code, fetch our code
package = library in version
project board, project = overview of work, roadmap, plan of work
discussion, comment = exchange of words
star = applaud, shows that i like, give it a star, clap for
follow = fan of
block user, block = insulting me, writes rubbish, harassing
customer = buyer, client, shopper, purchaser, who buys, wants to buy, patron, clients, somebody who pays, who
  bought, shoppers, people who buy, anybody by that mail, by that mail, who they are, customers file, file of
  client, student pays, subscriber, tenant, clientele, somebody who buys
customer, update customer = moved, another street, new address, changed her name, moved house
payment, charge, payment intent = money, transaction, pay, take money, collect, paid, purchase
charge, payment intent = take from the card, debit, bill the card
capture = take the money now, blocked money, money that we reserved, reserved, collect the held, held, money on hold
authorization, hold = reserve, block money, set aside
authorization = attempt to pay
cancel payment intent = not take the money, do not charge, release the money, let the money go, free the blocked
  money
refund = give back, money back, reimburse, return the money, wants money back, take back the goods, sent it back,
  broken goods, sent the goods back, does not like it, wants it back, took too much, sent back, money reached her,
  returned goods, not satisfied, unhappy with, complained and wants
payment method, card, source = credit card, debit card, means of paying, wallet, how he pays
setup intent, payment method = save card, for later, without charging, remember the card, keep the card, future
  payments
attach payment method, card = has a new card, new card, other card
detach payment method = old card, forget the card
bank account, external account = iban, account at the bank
mandate = permission to debit, allowed us to take, may we take
invoice = bill, what somebody owes, owe, owes, request for payment, bills, paper for the tax, what he ordered, what
  she ordered, ask for the money, ask him to pay, for our work, for our work of, work of may, hours we worked, ask
  for payment, payable, receivable
invoice item, line item = line on the bill, next bill, put on the bill, extra cost, extra on bill
finalize invoice, finalize = draft ready, make it real
pay invoice = collect the bill, settled, settle, take the bill money, paid by cheque, cheque, paid in cash, bill is
  settled
send invoice = mail the bill, bill to them
void invoice = bill was a mistake, bill was wrong, bill must not, sent wrong bill, forget the bill
upcoming invoice = next bill, next month, next time, pay next time
unpaid invoice, list invoices, invoice status = still owe, who owes, have not paid, outstanding, open bills, late
  payers
uncollectible = write off, never pay, bad debt, lost money, no hope, gone bankrupt, bankrupt, broke, will not pay
credit note = lower the bill, correct the bill, bill too high, less than billed, sent already, billed too much,
  mistake on the bill, reduce the bill, rebate on a bill, compensation
subscription = plan, monthly, every month, recurring, membership, premium, signs up for, takes the plan, per month,
  each month, every year, every week, pays us monthly, takes the premium, joins the club, member of the club,
  standing order, every quarter, yearly, each year, flat rate, monthly payer
update subscription, subscription item, subscription = bigger plan, smaller plan, upgrade, downgrade, more seats,
  change the plan, switch plan, other plan
cancel subscription, delete subscription = stop paying, quits, ends the plan, leaves the plan, stop the plan
resume subscription = back again, wants it again, is back, comes back
subscription schedule = change later, starting in, from summer, starting next month, moves to the cheap, in half a
  year, price rises in
usage record, usage = used, minutes, pay per use, consumed
trial = try for free, free weeks, test period
price, plan, amount = cost, costs, rate, fee, euro, euros, dollar, dollars, charge for, cents
product = item, article, goods, thing to sell, sell, offer, catalogue, also sell, we now sell, what we sell, for
  sale, wares, have in our shop, in our shop, line of goods, assortment, merchandise
deactivate product, update product = sold out, not offer, out of stock, no longer sell
coupon, discount = voucher, percent off, cheaper, reduction, sale, pay less, price cut, special offer, bargain, half
  price
delete discount, discount = full amount, full price, normal price, pay everything again
promotion code = promo code, code word, word to type, code for friends, secret word, type in, word that friends,
  code from the newsletter, code for followers, invite code
dispute = chargeback, claim, claims, complaint at bank, went to bank, fraud, never bought, contest, says it was not
  him, never got it, never arrived, took the money back, fight with the bank, objection, objects, says she never,
  called his bank, quarrel
dispute evidence, evidence, update dispute = proof, delivery slip, receipt, show that we delivered, papers that
  prove
close dispute = give in, let them win, not fight, accept the claim
payout = pay out, to our bank, what we earned, earnings, withdraw, arrive at the bank, get our money, money arrives,
  get our earnings, to our account, cash out, my own account, money in my own, my money, get my money, to my bank
  account, transfer to me, send me
balance = funds, money left, on our account, how much money, how rich, left in the account, cash in hand, in the
  till
balance transaction, transaction = came from, in and out, bookkeeping, movements, book entries
top up, topup = add funds, deposit, put money in, fill up, own money
transfer = share, vendor, marketplace, seller, pass the money, split, pay the seller, pass the seller, give the
  seller, seller part, share of the seller, give the shop its part, artist gets, driver gets, pay the drivers, pay
  our partners
connected account, account, create account = seller, vendor, merchant, shop joins, marketplace
account link, onboarding, account = fill in papers, sign up page, hand in documents, still missing papers
person, account person = director, representative
application fee = commission, did we keep, we keep of, our part of the sale, earn on
quote = offer, proposal, what it would cost, what would it cost, make an offer, tell the client what, price
  estimate, cost estimate
accept quote = yes to the offer, takes the offer, agreed to the offer
tax, tax rate, tax id = vat, percent on top, vat number, sales tax, add percent, duty
report run, report = numbers, table, accounting, figures of, month end
scheduled query = regular report, own report
checkout session, payment link, checkout = pay page, payment page, page to pay, link to pay, shopping cart
expire checkout session = page not finished, nobody finished, close the page
line item = ordered, bought
billing portal session, portal = self service, on their own, by themselves, manage their own, change their card
issuing card, card = company card, card for employee, give employee a card
issuing cardholder, cardholder = who holds
issuing authorization, issuing transaction = spent with
value list, value list item, radar = blocklist, blacklist, block customer, never take money, list of bad,
  suspicious, trusted
early fraud warning, review = looks fishy, suspicious payment, fishy, fraudster
review, approve review = is not a fraud, payment is fine, payment is ok
terminal reader, reader, terminal = card machine, counter, in the shop, tap her card, tap, cash desk
terminal location, location = shop, store address
shipping rate = delivery costs, delivery price, postage, parcel costs, shipping cost, delivery, sending parcels,
  charge for sending, parcels, parcel, post office, courier, freight, express delivery
file link = outside, link to a document, somebody outside a way, give somebody outside, link that runs out
identity verification session = passport, prove age, check the person, really who, over eighteen, old enough
financial account, treasury = store money
inbound transfer = pull money
outbound payment, outbound transfer = send money to, pay a supplier
customer balance, cash balance = credit of customer, store credit
exchange rate = currency, foreign money
apple pay domain = pay by phone
test clock = pretend time passes
mark paid, pay = paid in cash, already paid
webhook endpoint = tell our shop, our shop should hear, our shop listens, shop listens, hear about payments
search = do we know, by mail, by name
create customer = new buyer, new client
update customer = street, different phone, new phone number, new address of, phone number, changed name, his new
  address
delete customer = everything about buyer, privacy
payment intent, charge, payment = did he pay, has she paid, pay us last week, sales of, sold last, earned, did the
  money come, money came in, take from the card
confirm payment intent, confirm = go through with it, now really pay
capture payment intent, capture = blocked on the card, money that we blocked, take it now
payment method = which cards, means to pay
setup intent = remember her card, card on file, without taking money, on file, without taking
customer source, card = wrong card number, card ran out, expired card
bank account = bank details, details of the bank, new bank
invoice line item, invoice line = positions
invoice item = put the travel costs, also on the bill, on his next bill, extra, extras, add to the bill, travel
  expenses, expenses on the bill, work on the bill, also charge
finalize invoice = bill is complete, bill is ready, draft of the bill
invoice pdf, invoice = bill to print
search invoices, list invoices = still owes, owes us, owe us, not paid yet, overdue
create subscription = takes the premium plan, start the plan, sign her up
update subscription = wants the bigger plan, bigger plan, cheap plan, cheaper plan, two more seats, from basic to
cancel subscription = not want the plan, leaves the club, end of the plan, stop his membership
subscription discount, discount = cheaper for her, cheaper for him, reward
usage record = minutes this month, how much electricity
price, plan = costs ten, now costs, how expensive, how much is, what does it cost, what is included, make it dearer,
  price list, price tag
delete product = stop selling, no longer sell, article by mistake
coupon = summer sale, ten percent off, half off, reduced, price reduction, nice price, for the summer, for half,
  gift, half the price, euros off, rebate, for new readers, loyalty
delete coupon = sale is over, summer is over, no cheaper price
submit evidence, update dispute = show the bank, answer the bank
cancel payout = money on its way
reverse payout = transfer of our earnings
balance transaction = where did our money, all movements, ins and outs, cash flow, account statement
top up = put that money in, own money in, money in
account, connected account = sellers are with us, which sellers, new seller, seller joins, joins our marketplace,
  shop owner, other shops
reject account = seller is a cheat, throw out the seller
account link = fill in his papers, fill in forms, papers of the seller
account person, person = who owns the company, who owns that shop
external account, bank account = seller bank, bank of the seller
cancel quote = take back the offer
finalize quote = offer is ready
quote pdf = offer to print
tax id = has a vat number, tax number
tax rate = percent for the state, for the tax office, state wants, state takes
report run = numbers for the tax, as a table, list for the bookkeeper, bookkeeper, for the accountant, export for
  the tax, sheet of all, end of year, year end
checkout session = send him to a page, place to pay, basket, let them pay
portal session = change their card on, let customers change, look after their own
issuing card = for our employee, card for the driver, staff card, card for staff
update issuing card = card was stolen, card is lost, lost her card, lost his card, stolen
issuing cardholder = whose card, employee with a card
issuing authorization = did our people try, wanted to buy
issuing transaction = bought with our card, did our people buy
approve authorization = let him pay
value list = bad addresses
value list item = this address again
review = look at payment, strange payments, payments to check
approve review = payment is honest, honest
early fraud warning = bank warns us, bank thinks
terminal reader = machine for cards, tap, stick her card, card reader, at the desk, at the counter, pay in the shop
terminal reader action, cancel action = stop the machine, left the counter
terminal location = shops with machines
file = passport photo, upload proof, scan of the passport
event = account lately
customer balance transaction = paid too much
customer tax id = our buyer has
country spec = which countries, in which country
ephemeral key = short time key
financial account = our money box
search customers = is there a client, client called, who is the client
subscription item = one more seat
payment = cash, take 20 euros, sell for, purchases, receipts of the day, sales, turnover, revenue
failed payment, payment intent = bounced, was declined, was refused, card refused
overdue invoice, list invoices = bills are overdue, which bills, unpaid, still open, open bills, did everybody pay
price = tariff, fare, charge per, new tariff, old tariff, make more expensive, more expensive, dearer, pricing
update price, deactivate price = old tariff, choose the old, no longer choose
checkout = where people pay, place for paying, let people pay, cashier, buy button, pay online
payment link = pay by a link
list payment methods, payment method = cards of, cards on file
customer balance transaction, customer balance = gift credit, store credit, goodwill
connected account = freelancers who sell, partner shop
tax = fiscal
identity verification = is she real, grown up, adult, proof of age, identity card
terminal = market stand
pod, container = program, process, instance, app instance, what is running, running, runs, hangs, hang, hung,
  service instance
pod log, log = print, printed, output, said
pod exec, exec = shell, command, type commands, terminal, console, inside of it, look inside, ssh into, log into,
  get into
pod attach, attach = connect to the running
pod portforward, portforward = port forward, forward port, forward, tunnel, reach its port, from my own machine,
  from my laptop
pod status, read pod = does not start, keeps restarting, crash, crashes, stuck
pod, delete pod = fresh one, start fresh, restart it, throw it away
pod eviction, eviction = move it elsewhere, off this machine, make it leave
pod template = blueprint
deployment = app, application, workload, online, new version, roll out, rollout, web server, backend, which apps,
  run the app, web shop, website program, server program, api server, web app, web application, my service, micro
  service, microservice, game server, our app
create deployment = put online, bring online, launch the app, run my app, put my app, bring my app, get my app, app
  online, copies of my app
update deployment, patch deployment = new image, new version, roll out, next version, ship
delete deployment = take the app down, app down, take offline, app for good, remove app, throw the app
deployment scale, scale, replica = five of them, more of them, copies, more copies, load, too slow, busy
deployment status, rollout status = up everywhere, roll out done
replica set = copies of, copies are up
stateful set = database, db, keep their names, members, keeps its data, cluster of, database with, database needs,
  three members, has its own disk, queue, database server, cluster of databases
daemon set = every machine, on each machine, on every node, on all machines, on every machine, everywhere once, one
  on each, log collector, agent on every, each server shall, each server, monitoring program, on each of our, every
  server, all servers
job = one time, task, batch, migration, run to the end, one off, do once, data migration, import finished,
  calculation, is the import, do the import, crunch, crunch numbers, compute, number crunching, single run, convert
  all, load the data
cron job = every night, nightly, schedule, backup, every hour, each night, regularly, timer, backup every night,
  done regularly, every morning, every sunday, on schedule, in the background, nightly backup, runs every night,
  what runs every, on sundays, at midnight, once a day, once a week, weekly clean up
suspend cron job, patch cron job = stop for a while
node = machine, computer, host, server, vm, hardware, box, machines, which computers, computers, machine is broken,
  servers, hosts, how full are our, boxes, workers
cordon, unschedulable, node = not start anything, before repair
namespace = area, environment, sandbox, staging, test area, separate area, corner, space, project, areas, place of
  its own, which areas, area for, testing area, area of the team, everything in the area, all that belonged,
  belonged to it, playground, own space, separate world, place for the demo, room for a team
service = address that stays, reach inside, stable address, load balancer, internal address, same address, address,
  addresses, inside name, call each other, find each other, find the database, under one name, one address for, at
  which addresses, find my app, common name, share the load, spread the load, entrance inside
endpoints, endpoint slice = behind an address, which instances answer
ingress = internet, public, website, domain, reachable from outside, hostname, web address, from the internet,
  domain name, reachable, from outside, public address, customers reach us, reach us, reach our, web traffic, front
  door, outside address, public name, reachable for everybody
ingress class = kind of entrance
network policy = firewall, may talk to, only may talk, reach, isolate, cut off, separate, traffic between, not talk,
  talk to the database, who may talk, talk to whom, must not reach, close off, seal off, shield, connect to, must
  not connect, who may connect, open only for, shut off from, no traffic
config map, configmap = configuration, setting, settings, settings of the app, config file, outside of the image
secret = password, credentials, safe, confidential, key, database password, password of the database, passwords that
  the app uses, password that the app, keep safe, new password, key of the app, certificate and key, hide the
  password, without showing, log in data
persistent volume claim, persistent volume = disk, storage, gigabytes, keep its data, save data, disk space, space
  for data, volume
storage class, csi driver = kind of disk, fast disks, disks to offer
resource quota, limit range, quota = at most, processors, memory, share of the cluster
horizontal pod autoscaler, autoscaler = by itself, by themselves, automatically, when busy, gets busy, on its own,
  grows with load, autoscaling
pod disruption budget, disruption = maintenance, stay up, at least, serviced, during repairs, must stay up
service account = robot, bot, own identity, machine identity, identity, technical user, robot needs, identity for
  the app, user for the robot, name for the robot, program logs in, login for a program
service account token, token = password for robot, talk to the cluster
role, cluster role = rights, set of rights
role binding, cluster role binding = may see, let see, give access, access to, permissions, may do, let colleague,
  must not see
self subject access review, subject access review, access review = am i allowed, allowed to, may i, can i
self subject rules review = all that i may
token review = is this token good, whose token
certificate signing request = certificate, need a certificate, wants a certificate, may have that certificate,
  signed, sign my key
custom resource definition = teach the cluster, own kind, own type, extend the cluster, new kind, kind of thing,
  teach, own things, invent, kind of object
priority class = more important, important, goes first, more important than, most important, goes before, important
  ones first, preferred, precedence
admission, webhook configuration, validating webhook = check everything before, reject bad, policy for all, rule for
  everything
mutating webhook = change everything before
api service = extra api, own api
lease = who is the leader, who is the boss, boss right now, leader right now, which one leads, who is active
runtime class = how containers run
component status = is the cluster healthy, health of cluster
version = which release
event = went wrong, trouble, what happened, why does it not, what went wrong, in the last minutes, why did it fail,
  what is the matter, unusual in, anything strange, recent troubles, in the last hour, last hour
controller revision = older version
annotation, label = note on a thing
binding = put on a machine
pod = what is running, running things, programs, program, hangs, not start, fresh one, one of the copies, what runs,
  run this program once, replica that, thing that runs, it crashes, my program, running copy, one copy, boxes that
  run, service is down
pod log = did the program print, last words, why did it die, what did it say, what does it complain, before it died,
  error of the app, app says
pod exec = type commands inside, commands inside, go inside, look around inside, command line, poke around inside,
  enter it, enter the
pod portforward = from my own computer, on my own computer, own machine, reach it from my laptop
pod eviction = push it to another, make it go to
pod status = come up, not come up
patch deployment = version of the app, newer image, version of the shop, last week version, different image, with
  the new image
deployment scale = three copies, five copies, too many people, need five of, ten of them, many visitors, run ten
  copies, ten copies, one copy only, more power, handle more, sale is coming, is coming
deployment status = up everywhere, new version up
stateful set scale = one more member, more members
delete job = stop the migration, stop the calculation
patch cron job = move the backup
patch node = nothing new on, mark the machine
delete node = machine is broken, take the machine out
endpoint slice, endpoints = answers behind, really answers, which copies answer
config map = settings, app settings, setting of the app, settings for the apps, change a setting, file with
  settings, parameters, options of the app, text that the app reads, tell the app
persistent volume claim = needs ten gigabytes, ten gigabytes, get its disk, keep data, room for data, space, data
  survives, own disk, disk for the database, must survive, survive a restart, survives a restart, keep files, files
  must stay, room to store, store files
persistent volume = which disks, big disk, new disk, hard disk, drive, shared disk, nfs, drives
storage class = fast disks, slow disks, kinds of disks, cheap disks, ssd, disk types, types of disks
resource quota = not use more, must not use, ten processors, share of machines, greedy, bit of memory, may only use
  a, cpu, students may only
limit range = smallest and biggest, default memory, per program
horizontal pod autoscaler = more when busy, many people come, grow when, gets busy, copies by itself, adapt to load,
  rush
pod disruption budget = stay up while, must stay alive, during repairs, machines are serviced, at least two, two
  must stay, while we patch, keep running while, during upgrades
role = may do, define what, testers may, sets of rights, rights exist, list of rights, kinds of permission, powers
  of
role binding = see what runs, may look into, give the testers, access for, rights for, permission for, may look,
  read only access, give her rights, make him admin of, let her see
delete role binding = take the rights away, intern must not, no longer see
subject access review = is he allowed, may she delete, can i delete, am i allowed, could she
certificate signing request approval = give him the certificate
component status, healthz = cluster alive, cluster well
validating webhook configuration = refuse bad
node status, read node = is machine healthy, machine well
restart pod, delete pod = kick it so, restart the, come up again, start again clean
list deployment = do we run
cordon node, patch node = going to repair, will be repaired, take it easy on
drain, eviction = clear the machine, empty the server
autoscaler = rush hour, peaks, peak, as needed, when needed, adapts, adjusts itself
access review = would he
`
