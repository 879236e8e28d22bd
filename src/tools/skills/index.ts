/** Reads Agent Skills of a folder, and reports their errors. */

export {
  readSkills,
  SKILLS_EXTENSION,
  type Skill,
  type SkillFile,
  type Skills,
  skillsStamp,
} from './folder.ts'
