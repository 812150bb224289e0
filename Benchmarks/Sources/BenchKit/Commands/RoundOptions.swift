import ArgumentParser

/// The number of rounds and the form of the result.
struct RoundOptions: ParsableArguments {
    @Option(name: .long, help: "How many times everything is measured.")
    var rounds = 3

    @Flag(name: .long, help: "Print one JSON document with every sample.")
    var json = false

    func validate() throws {
        guard (1...1_000).contains(rounds) else { throw ValidationError("--rounds has to be from 1 to 1000.") }
    }

    /// Prints a report as a table or as JSON.
    func show(_ report: some Encodable & CustomStringConvertible) throws {
        Console.result(json ? try JSONDocument.text(report) : report.description)
    }
}
