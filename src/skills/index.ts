/** Reads Agent Skills of a folder, and reports their errors. */

export { readSkills, skillsStamp } from './folder.ts'
export { SKILL_FILE, SKILLS_EXTENSION, type Skill, type SkillFile, type Skills } from './skill.ts'
