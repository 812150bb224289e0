import ArgumentParser

/// The tools that take part, and their paths.
struct ToolOptions: ParsableArguments {
    @Option(
        name: .long, help: ArgumentHelp("Tools, separated by commas. The default is all.", valueName: "names"),
        transform: ToolOptions.tools)
    var tools = Tool.allCases

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Where a tool is that is not in PATH; for obstore the python3 that has it.", valueName: "name=path"),
        transform: ToolOptions.place)
    var tool: [Place] = []

    @Option(name: .long, help: "The uploader. The default is the one next to this program.")
    var uploader: String?

    @Option(name: .long, help: "obstore-copy.py. The default is the one in the sources of this program.")
    var obstoreScript: String?

    struct Place {
        var tool: Tool
        var path: String
    }

    /// The given paths. The last one of each tool wins.
    var given: [Tool: String] {
        var given = Dictionary(tool.map { ($0.tool, $0.path) }) { _, last in last }
        given[.lfs] = uploader ?? given[.lfs]
        return given
    }

    private static func tools(_ text: String) throws -> [Tool] {
        let names = text.split(separator: ",").map(String.init)
        let tools = try names.map(named)
        guard !tools.isEmpty else { throw ValidationError("--tools names none.") }
        return Tool.allCases.filter(tools.contains)
    }

    private static func place(_ text: String) throws -> Place {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw ValidationError("'\(text)' is not of the form name=path.") }
        return Place(tool: try named(parts[0]), path: parts[1])
    }

    private static func named(_ name: String) throws -> Tool {
        guard let tool = Tool(rawValue: name) else {
            let all = Tool.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("There is no tool '\(name)'. The tools are: \(all).")
        }
        return tool
    }
}
