import { contract } from './contract.ts'
import { KINDS } from './kinds.ts'

for (const kind of KINDS) contract(kind)
