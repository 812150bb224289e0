/// Asks the person at the terminal.
enum Question {
    /// - Returns: whether it was answered with yes; nil where there is no terminal to ask on.
    static func isConfirmed(_ text: String) -> Bool? {
        guard Console.canAsk else { return nil }
        Console.ask("\(text) [y/N] ")
        return ["y", "yes"].contains((readLine() ?? "").lowercased())
    }
}
