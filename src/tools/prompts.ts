import type { Configuration, Prompt } from '../config/model.ts'
import { isObject } from '../json/index.ts'
import type { Memo, Template } from '../template/index.ts'
import { cut } from '../text/index.ts'
import { unknownText } from './argument-text.ts'
import { CallError } from './failure.ts'
import { type Env, renderInTurns, templateCompiler } from './templates.ts'
import type { Problem, PromptAnswer, PromptDefinition, PromptResult, Prompts } from './types.ts'

interface CompiledPrompt {
  prompt: Prompt
  definition: PromptDefinition
  texts: (Template | undefined)[]
}

/** Compiles the configuration's own prompts; their texts are templates over `.Args`. */
export function compilePrompts(
  configuration: Configuration,
  { env, memo }: { env: Env; memo?: Memo },
): { prompts: Prompts; problems: Problem[] } {
  const problems: Problem[] = []
  const compile = templateCompiler(env, problems, memo)
  const compiled = new Map<string, CompiledPrompt>()
  for (const [i, prompt] of configuration.prompts.entries()) {
    const texts = prompt.promptResponse.map(({ content }, j) =>
      compile(content.text, ['prompts', i, 'promptResponse', j, 'content', 'text'], 'text', { Args: true }),
    )
    if (!texts.includes(undefined))
      compiled.set(prompt.name, { prompt, definition: definitionOf(prompt), texts })
  }
  const list = [...compiled.values()].map(({ definition }) => definition)
  const names = [...compiled.keys()]
  return {
    prompts: {
      list,
      async get(name, args) {
        const found = compiled.get(name)
        return found ? answer(found, args) : { error: unknownText('prompt', name, names) }
      },
    },
    problems,
  }
}

function definitionOf({ name, title, description, arguments: args }: Prompt): PromptDefinition {
  return {
    name,
    arguments: args,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
  }
}

async function answer({ prompt, texts }: CompiledPrompt, args: unknown = {}): Promise<PromptAnswer> {
  if (!isObject(args)) return { error: `The arguments of prompt ${prompt.name} must be an object` }
  const wrong = Object.keys(args).find((name) => typeof args[name] !== 'string')
  if (wrong !== undefined)
    return { error: `Argument ${cut(wrong, 100)} of prompt ${prompt.name} must be a string` }
  const missing = prompt.arguments.filter(({ name, required }) => required && !Object.hasOwn(args, name))
  if (missing.length > 0)
    return {
      error: `Missing argument of prompt ${prompt.name}: ${missing.map(({ name }) => name).join(', ')}`,
    }
  try {
    const messages: PromptResult['messages'] = []
    for (const [i, { role }] of prompt.promptResponse.entries()) {
      const text = (await renderInTurns(texts[i]!, { Args: args }, 'text')) ?? ''
      messages.push({ role, content: { type: 'text', text } })
    }
    const { description } = prompt
    return { result: description === undefined ? { messages } : { description, messages } }
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    return { error: error.text }
  }
}
