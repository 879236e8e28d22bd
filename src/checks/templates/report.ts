import type { Path, Report } from '../../findings/index.ts'
import type { Span } from '../../template/index.ts'

/** What a check of one template has found. */
export interface TemplateReport extends Omit<Report, 'path' | 'isKey' | 'start' | 'end' | 'fix' | 'related'> {
  /** The place in the template. */
  at: Span
  /** Replaces the text at that place. */
  fix?: string | undefined
}

export type TemplateReporter = (report: TemplateReport) => void

/** Reports what concerns no single template, at a path of the configuration. */
export type PathReporter = (report: Pick<Report, 'code' | 'message' | 'hint'> & { path: Path }) => void
