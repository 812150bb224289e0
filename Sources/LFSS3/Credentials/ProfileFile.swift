import Foundation
package import LFSStorage

/// One of AWS's two files of profiles, `credentials` or `config`, taken apart.
///
/// Read as "Configuration and credential file settings" in the AWS CLI user guide has it: `[section]`, `name = value`,
/// lines that begin with `#` or `;` are comments and so is what follows ` #` or ` ;`; an indented line is a setting
/// inside the one above it, here `outer.inner`; lines that are nothing of all this are skipped; what comes later wins.
package struct ProfileFile: Sendable {
    /// How large a file may be, in bytes.
    package static let maximumByteCount = 1 << 20

    /// The settings by section and by lowercase name.
    private var sections: [String: [String: String]] = [:]

    /// - Parameter name: the file's name for errors.
    /// - Throws: ``StorageError/Code/invalidRequest`` for a section whose bracket does not close.
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
                        .invalidRequest, "Line \(number) of \(name) begins a section with '[' and has no ']': mend it.")
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

    /// The file at a path; nil when there is none.
    ///
    /// - Throws: ``StorageError/Code/invalidRequest`` when it cannot be read, is too large or has a broken section.
    package init?(path: String) throws(StorageError) {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let data: Data
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            data = try handle.read(upToCount: Self.maximumByteCount + 1) ?? Data()
        } catch {
            throw StorageError(.invalidRequest, "The file \(path) cannot be read: check its mode.", cause: error)
        }
        guard data.count <= Self.maximumByteCount else {
            throw StorageError(.invalidRequest, "The file \(path) has more than 1 MiB: it is no file of profiles.")
        }
        try self.init(String(decoding: data, as: UTF8.self), name: path)
    }

    /// The settings of a section, nil when there is no such section.
    package subscript(section: String) -> [String: String]? { sections[section] }

    /// The name between the brackets, with one space for each run of blanks.
    private static func section(_ text: Substring) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Nil for a line that is none, such as a comment.
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
