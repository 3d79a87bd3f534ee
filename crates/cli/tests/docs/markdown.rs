//! The executable parts of a page's Markdown: its fenced blocks, and the commands in them.

/// A page.
pub(crate) struct Page {
    /// Its path from the root of the repository.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
    /// Its fenced blocks, in order.
    pub(crate) blocks: Vec<Block>,
}

/// A fenced block.
pub(crate) struct Block {
    /// The info string of the opening fence, split at commas.
    info: Vec<String>,
    /// The line number of the opening fence, from 1.
    pub(crate) line: usize,
    /// The last line before the fence that is not empty.
    before: String,
    /// The content of the block.
    pub(crate) body: String,
}

/// A command, and its output in the page.
pub(crate) struct Step {
    /// Its line number, from 1.
    pub(crate) line: usize,
    /// The command line, without the prompt.
    pub(crate) command: String,
    /// The expected output, in whole lines.
    pub(crate) output: String,
    /// Whether it needs the lab.
    pub(crate) lab: bool,
}

impl Page {
    /// Parses a page.
    pub(crate) fn new(name: &str, text: String) -> Self {
        let blocks = blocks(&text);
        Self { name: name.to_owned(), text, blocks }
    }

    /// Every command of the blocks that are run.
    pub(crate) fn steps(&self) -> Vec<Step> {
        self.blocks.iter().flat_map(Block::steps).collect()
    }

    /// Whether any command needs the lab.
    pub(crate) fn needs_lab(&self) -> bool {
        self.blocks.iter().any(|block| block.is_run() && block.takes_lab())
    }
}

impl Block {
    /// Whether the block seems to show commands.
    pub(crate) fn is_shell(&self) -> bool {
        const WORDS: [&str; 8] =
            ["$ ", "suimon ", "sudo ", "make ", "cargo ", "git ", "./", "# suimon"];
        let shell = ["console", "sh", "shell", "bash"];
        let looks =
            || self.body.lines().any(|line| WORDS.iter().any(|word| line.starts_with(word)));
        shell.contains(&self.language()) || (self.language().is_empty() && looks())
    }

    /// Whether its commands are run.
    pub(crate) fn is_run(&self) -> bool {
        self.language() == "console" && self.reason().is_none()
    }

    /// The comment before the block that says why it is not run, or where else.
    pub(crate) fn reason(&self) -> Option<&str> {
        let comment = self.before.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
        (comment.starts_with("run by: ") || comment.starts_with("not run: ")).then_some(comment)
    }

    /// The file that the block shows, if it names one.
    pub(crate) fn file(&self) -> Option<&str> {
        self.info.iter().find_map(|word| word.strip_prefix("file="))
    }

    fn language(&self) -> &str {
        self.info.first().map_or("", String::as_str)
    }

    fn takes_lab(&self) -> bool {
        self.info.iter().any(|word| word == "lab")
    }

    /// The block's commands, if it is run.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let lines = self.body.lines().filter(|_| self.is_run()).enumerate();
        for (place, line) in lines {
            if let Some(command) = line.strip_prefix("$ ") {
                let (command, output) = (command.to_owned(), String::new());
                let line = self.line + 1 + place;
                steps.push(Step { line, command, output, lab: self.takes_lab() });
                continue;
            }
            let Some(step) = steps.last_mut() else {
                panic!("line {}: output before any `$ `", self.line + 1 + place);
            };
            match line.strip_prefix("> ").filter(|_| step.output.is_empty()) {
                Some(more) => step.command += &format!("\n{more}"),
                None => step.output += &format!("{line}\n"),
            }
        }
        steps
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut within, mut before) = (false, String::new());
    for (place, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), within) {
            (Some(info), false) => {
                let info = info.split(',').map(|word| word.trim().to_owned()).collect();
                let before = std::mem::take(&mut before);
                blocks.push(Block { info, line: place + 1, before, body: String::new() });
                within = true;
            }
            (Some(_), true) => within = false,
            (None, true) => {
                let body = &mut blocks.last_mut().expect("a fence was opened").body;
                *body += &format!("{line}\n");
            }
            (None, false) if !line.trim().is_empty() => line.trim().clone_into(&mut before),
            (None, false) => {}
        }
    }
    blocks
}
