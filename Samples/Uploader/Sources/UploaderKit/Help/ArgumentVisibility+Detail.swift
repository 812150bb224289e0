import ArgumentParser

extension ArgumentVisibility {
    /// The visibility of an option that a topic of the help describes, and the help of the command does not.
    ///
    /// Shell completions and manual pages contain these options like all others. The program itself generates both.
    static var detail: ArgumentVisibility {
        let isGenerating = CommandLine.arguments.contains {
            $0.hasPrefix("--generate-completion-script") || $0 == "--experimental-dump-help"
        }
        return isGenerating ? .default : .hidden
    }
}
