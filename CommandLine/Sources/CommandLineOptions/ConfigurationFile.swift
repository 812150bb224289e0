import ArgumentParser
import Foundation
import Yams

/// A YAML file with values of options. Its keys are the names of options without the dashes at their start. A value is
/// a scalar, or a list of scalars for an option that can be repeated.
///
///     database: /srv/photos.sqlite
///     keep-versions: 30d
///     exclude: ["*.tmp", "cache/"]
struct ConfigurationFile {
    let path: String
    let values: [String: [String]]

    /// Reads the file. It must belong to the user or to root, and other users must not be able to write it: it decides
    /// where credentials are sent.
    ///
    /// - Throws: `ValidationError` for a missing or unsafe file, and for wrong content.
    init(reading path: String) throws {
        let attributes: [FileAttributeKey: Any]
        let data: Data
        do {
            let file = URL(fileURLWithPath: path).resolvingSymlinksInPath()
            attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            data = try Data(contentsOf: file)
        } catch {
            throw ValidationError("The configuration file \(path) cannot be read: \(error.localizedDescription)")
        }
        let owner = (attributes[.ownerAccountID] as? NSNumber)?.uint32Value
        let mode = (attributes[.posixPermissions] as? NSNumber)?.uint16Value ?? 0
        guard owner == geteuid() || owner == 0, mode & 0o022 == 0 else {
            throw ValidationError(
                "Other users may change the configuration file \(path). Make it yours, and run 'chmod go-w' on it.")
        }
        try self.init(path: path, contents: String(decoding: data, as: UTF8.self))
    }

    /// - Throws: `ValidationError` for content that is not a mapping of names to scalars and lists of scalars.
    init(path: String, contents: String) throws {
        self.path = path
        let root: Node?
        do {
            root = try Yams.compose(yaml: contents)
        } catch {
            throw ValidationError("The configuration file \(path) is not valid YAML: \(error)")
        }
        // An empty file has no options.
        guard let root, root.scalar?.string != "" else {
            values = [:]
            return
        }
        guard let mapping = root.mapping else {
            throw ValidationError("The configuration file \(path) has to consist of lines such as 'database: PATH'.")
        }
        var values: [String: [String]] = [:]
        for (key, value) in mapping {
            let texts = value.sequence.map { $0.map(\.scalar?.string) } ?? [value.scalar?.string]
            guard let name = key.scalar?.string, !texts.contains(nil), texts != [""] else {
                let line = key.mark.map { ", line \($0.line)" } ?? ""
                throw ValidationError("\(path)\(line): give each name a value, or a list of values.")
            }
            values[name] = texts.compactMap(\.self)
        }
        self.values = values
    }
}
