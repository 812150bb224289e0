/// Questions to the person at the terminal.
enum Question {
    /// - Returns: true if the answer is yes. Nil without a terminal to ask on.
    static func isConfirmed(_ text: String) -> Bool? {
        guard Console.canAsk else { return nil }
        Console.ask("\(text) [y/N] ")
        return ["y", "yes"].contains((readLine() ?? "").lowercased())
    }
}
