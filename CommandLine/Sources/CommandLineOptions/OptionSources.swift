public import ArgumentParser
public import Foundation

/// The places that give values to options which the command line does not have: environment variables and a YAML file.
///
/// The variable of an option is the program's name and the option's name in capitals, with `_` for `-`:
/// `UPLOADER_GIVE_UP_AFTER` is `--give-up-after` of `uploader`. A flag takes `true` or `false`. The command line takes
/// precedence over variables, and variables take precedence over the file.
///
/// The variable `…_CONFIG` names the file. By default it is `lfs/PROGRAM.yaml` in the user's configuration folder. A
/// variable or a key of the file applies to each command that has the option.
public struct OptionSources: Sendable {
    private let program: String
    private let environment: [String: String]

    /// - Parameters:
    ///   - program: the name of the program, such as `uploader`.
    ///   - environment: by default the one of the process.
    public init(program: String, environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.program = program
        self.environment = environment
    }

    /// The path of the configuration file, which may be missing unless a variable names it.
    public var path: String {
        if let named = value(of: configVariable) { return named }
        return "\(Self.folder(in: environment))/\(program).yaml"
    }

    /// Returns the folder `lfs` in the user's configuration folder.
    ///
    /// - Parameter environment: the environment with `XDG_CONFIG_HOME` and `HOME`.
    public static func folder(in environment: [String: String]) -> String {
        var folder = "\(FileManager.default.homeDirectoryForCurrentUser.path)/.config"
        if let home = environment["HOME"], home.hasPrefix("/") { folder = home + "/.config" }
        if let named = environment["XDG_CONFIG_HOME"], named.hasPrefix("/") { folder = named }
        return folder + "/lfs"
    }

    /// Returns a command line with the values of the options that it does not have, after the name of the command. The
    /// parser then checks them like others. A command line without a command stays as it is.
    ///
    /// - Throws: `ValidationError` for a configuration file that cannot be used, and for a flag without `true` or
    ///   `false`.
    public func completing(_ arguments: [String], of root: any ParsableCommand.Type) throws -> CompletedArguments {
        if arguments.contains(where: Self.help.contains) { return CompletedArguments(arguments: arguments) }
        let file = try configurationFile()
        guard file != nil || hasVariables else { return CompletedArguments(arguments: arguments) }
        let tool = try CommandDefinition(of: root)
        try file.map { try requireKnown($0, options: tool.allOptions) }
        guard let (command, count) = tool.command(arguments) else { return CompletedArguments(arguments: arguments) }
        let words = arguments.dropFirst(count)
        let given = words.prefix { $0 != "--" }
        let options = command.options
        var completed = CompletedArguments(arguments: Array(arguments.prefix(count)))
        for value in try values(options, file: file) {
            guard let option = options[value.name], !option.isGiven(in: given) else { continue }
            completed.values.append(value)
            completed.arguments += try self.words(value, option: option)
        }
        completed.arguments += words
        return completed
    }

    /// Returns the values of all options of a program that have one, in the order of their names.
    ///
    /// - Throws: `ValidationError` for a configuration file that cannot be used.
    public func values(of root: any ParsableCommand.Type) throws -> [OptionValue] {
        let options = try CommandDefinition(of: root).allOptions
        let file = try configurationFile()
        try file.map { try requireKnown($0, options: options) }
        return try values(options, file: file)
    }

    /// Returns the variables with the program's prefix that belong to no option, in the order of their names.
    public func unknownVariables(of root: any ParsableCommand.Type) throws -> [String] {
        let known = Set(try CommandDefinition(of: root).allOptions.keys.map(variable) + [configVariable])
        return environment.keys.filter { $0.hasPrefix(prefix) && !known.contains($0) }.sorted()
    }

    private func values(_ options: [String: OptionDefinition], file: ConfigurationFile?) throws -> [OptionValue] {
        options.keys.sorted().compactMap { name in
            let variable = variable(name)
            if let text = value(of: variable) { return OptionValue(name: name, texts: [text], source: variable) }
            return file.flatMap { file in
                file.values[name].map { OptionValue(name: name, texts: $0, source: file.path) }
            }
        }
    }

    private func words(_ value: OptionValue, option: OptionDefinition) throws -> [String] {
        guard option.isFlag else {
            guard option.isRepeating || value.texts.count == 1 else {
                throw ValidationError("\(value.source): '\(value.name)' takes one value.")
            }
            return value.texts.map { "--\(value.name)=\($0)" }
        }
        switch value.texts {
        case ["true"]: return ["--\(value.name)"]
        case ["false"]: return option.isNegatable ? ["--no-\(value.name)"] : []
        default: throw ValidationError("\(value.source): '\(value.name)' takes true or false.")
        }
    }

    /// A link without a target and a folder without access count as a file that cannot be read: its options, such as
    /// one that keeps old versions, must not be ignored.
    private func configurationFile() throws -> ConfigurationFile? {
        let path = path
        if value(of: configVariable) == nil {
            var status = stat()
            if lstat(path, &status) != 0, errno == ENOENT || errno == ENOTDIR { return nil }
        }
        return try ConfigurationFile(reading: path)
    }

    private func requireKnown(_ file: ConfigurationFile, options: [String: OptionDefinition]) throws {
        guard let unknown = file.values.keys.filter({ options[$0] == nil }).min() else { return }
        throw ValidationError("The configuration file \(file.path) has the unknown option '\(unknown)'.")
    }

    private func value(of variable: String) -> String? { environment[variable].flatMap { $0.isEmpty ? nil : $0 } }

    private func variable(_ option: String) -> String { prefix + Self.capitals(option) }

    private var prefix: String { Self.capitals(program) + "_" }

    private var configVariable: String { prefix + "CONFIG" }

    private var hasVariables: Bool { environment.keys.contains { $0.hasPrefix(prefix) } }

    private static func capitals(_ name: String) -> String { name.uppercased().replacing("-", with: "_") }

    /// The words that ask for help instead of a command.
    private static let help: Set = ["-h", "--help", "--help-hidden", "--version"]
}

/// A command line together with the values that were added to it.
public struct CompletedArguments: Sendable {
    public var arguments: [String]
    public var values: [OptionValue] = []

    /// A sentence that lists the added options with their sources, for a message about a wrong command line. Nil if
    /// none was added.
    public var explanation: String? {
        if values.isEmpty { return nil }
        return "Also given: " + values.map { "--\($0.name) by \($0.source)" }.joined(separator: ", ") + "."
    }
}

/// The value of an option from a variable or a configuration file.
public struct OptionValue: Sendable, Hashable {
    /// The name of the option without the dashes at its start.
    public let name: String
    /// The text, or several for an option that can be repeated.
    public let texts: [String]
    /// The name of the variable, or the path of the file.
    public let source: String

    /// The texts for people, without user names and passwords in URLs.
    public var shown: String {
        texts.map { $0.replacing(/(?s):\/\/.*@/) { _ in "://…@" } }.joined(separator: ", ")
    }
}
