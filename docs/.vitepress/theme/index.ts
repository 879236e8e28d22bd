import { type Theme, useData, useRoute } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { nextTick, onMounted, watch } from 'vue'
import { draw } from './diagrams.ts'
import './style.css'

export default {
  extends: DefaultTheme,
  setup() {
    const route = useRoute()
    const { isDark } = useData()
    const redraw = () => nextTick(() => draw(isDark.value))
    onMounted(redraw)
    watch([() => route.path, isDark], redraw)
  },
} satisfies Theme
