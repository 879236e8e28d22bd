/** A folder of Agent Skills → the skills in it, and what is wrong with them. */

export { readSkills, skillsStamp } from './folder.ts'
export { SKILL_FILE, SKILLS_EXTENSION, type Skill, type SkillFile, type Skills } from './skill.ts'
