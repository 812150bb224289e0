import Foundation
package import LFSStorage

/// A parsed profile file of AWS: `credentials` or `config`.
///
/// The format follows "Configuration and credential file settings" in the AWS CLI user guide:
///
/// - Sections are `[section]`, and settings are `name = value`. A later setting overrides an earlier one.
/// - A line that begins with `#` or `;` is a comment, and so is the text after ` #` or ` ;`.
/// - An indented line is a nested setting, stored as `outer.inner`.
/// - All other lines are skipped.
package struct ProfileFile: Sendable {
    /// The maximum size of a file in bytes.
    package static let maximumByteCount = 1 << 20

    /// The settings by section and lowercase name.
    private var sections: [String: [String: String]] = [:]

    /// - Parameter name: the file's name, for errors.
    /// - Throws: ``StorageError/Code/invalidRequest`` for a section without a closing bracket.
    package init(_ text: String, name: String) throws(StorageError) {
        var (current, outer): (String?, String?)
        var number = 0
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            let line = line.hasPrefix("\u{FEFF}") ? line.dropFirst() : line
            if line.first?.isWhitespace == true, let current, let outer, let inner = Self.setting(line) {
                sections[current]?["\(outer).\(inner.name)"] = inner.value
                continue
            }
            guard let first = line.first, !first.isWhitespace, first != "#", first != ";" else { continue }
            outer = nil
            if first == "[" {
                guard let end = line.firstIndex(of: "]") else {
                    throw StorageError(
                        .invalidRequest,
                        message: "Line \(number) of \(name) begins a section with '[' but has no ']': add it.")
                }
                let section = Self.section(line[line.index(after: line.startIndex)..<end])
                if sections[section] == nil { sections[section] = [:] }
                current = section
            } else if let current, let setting = Self.setting(line) {
                sections[current]?[setting.name] = setting.value
                if setting.value.isEmpty { outer = setting.name }
            }
        }
    }

    /// Reads the file at a path. Returns nil if it does not exist.
    ///
    /// - Throws: ``StorageError/Code/invalidRequest`` when it cannot be read, is too large, or has an invalid section.
    package init?(path: String) throws(StorageError) {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let data: Data
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            data = try handle.read(upToCount: Self.maximumByteCount + 1) ?? Data()
        } catch {
            throw StorageError(
                .invalidRequest, message: "The file \(path) cannot be read: check its permissions.", cause: error)
        }
        guard data.count <= Self.maximumByteCount else {
            throw StorageError(
                .invalidRequest, message: "The file \(path) has more than 1 MiB: it is not a file of profiles.")
        }
        try self.init(String(decoding: data, as: UTF8.self), name: path)
    }

    /// The settings of a section, or nil if the file does not contain it.
    package subscript(section: String) -> [String: String]? { sections[section] }

    /// Returns the name between the brackets, with one space for each run of whitespace.
    private static func section(_ text: Substring) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Returns nil for a line without a setting, such as a comment.
    private static func setting(_ line: Substring) -> (name: String, value: String)? {
        guard let equals = line.firstIndex(of: "=") else { return nil }
        let name = trimmed(line[..<equals]).lowercased()
        guard !name.isEmpty, !name.hasPrefix("#"), !name.hasPrefix(";") else { return nil }
        return (name, value(line[line.index(after: equals)...]))
    }

    private static func value(_ text: Substring) -> String {
        let text = trimmed(text)
        var previous: Character = " "
        for (index, character) in zip(text.indices, text) {
            if character == "#" || character == ";", previous.isWhitespace { return trimmed(text[..<index]) }
            previous = character
        }
        return text
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        text.trimmingCharacters(in: .whitespaces)
    }
}
