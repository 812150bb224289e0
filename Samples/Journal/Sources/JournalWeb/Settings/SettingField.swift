import Foundation
import LFSSettings

/// A setting as a field of a form, with its name there and its permitted texts.
struct SettingField: Sendable {
    /// A closure that stores a value or removes it.
    typealias Change = @Sendable (SettingsBatch) throws -> Void

    let name: String
    let isSwitch: Bool
    /// A closure that removes the value, so that the default is used.
    let reset: Change
    /// A closure that returns the change for a text. Nil for an invalid text.
    private let change: @Sendable (String) -> Change?
    /// A description of the permitted texts for people.
    private let allowed: String

    /// - Parameter value: A closure that returns the value of a text. Nil for an invalid text.
    private init<Value: Sendable>(
        _ name: String, key: StorageKey<Value>, isSwitch: Bool = false, allowed: String,
        value: @escaping @Sendable (String) -> Value?
    ) {
        self.name = name
        self.isSwitch = isSwitch
        self.allowed = allowed
        reset = { batch in try batch.remove(key) }
        change = { text in
            guard let value = value(text) else { return nil }
            return { batch in try batch.set(value, for: key) }
        }
    }

    /// Returns a field for one of several words.
    static func choice<Value: RawRepresentable<String> & Codable & CaseIterable & Sendable>(
        _ name: String, key: StorageKey<Value>
    ) -> SettingField {
        SettingField(name, key: key, allowed: "one of " + Value.allCases.map(\.rawValue).joined(separator: ", ")) {
            text in
            Value(rawValue: text)
        }
    }

    /// Returns a field for a whole number in a range.
    static func number(_ name: String, key: StorageKey<Int>, range: ClosedRange<Int>) -> SettingField {
        SettingField(name, key: key, allowed: words(range)) { text in number(text, range: range) }
    }

    /// Returns a field for media types, separated by commas.
    static func mediaTypes(_ name: String, key: StorageKey<[String]>) -> SettingField {
        let allowed = "at most 20 media types, such as image/png or video/*, separated by commas"
        return SettingField(name, key: key, allowed: allowed) { text in
            let types = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
            // The names of RFC 6838, section 4.2.
            guard types.count <= 20, types.allSatisfy({ $0.wholeMatch(of: /[a-z]+\/(\*|[a-z0-9.+_-]{1,64})/) != nil })
            else { return nil }
            return types
        }
    }

    /// Returns a field for a duration in whole minutes.
    static func minutes(_ name: String, key: StorageKey<Duration>, range: ClosedRange<Int>) -> SettingField {
        SettingField(name, key: key, allowed: words(range)) { text in
            number(text, range: range).map { .seconds($0 * 60) }
        }
    }

    /// Returns a field for a box. Browsers send `on` for a ticked box, and nothing for any other box.
    static func toggle(_ name: String, key: StorageKey<Bool>) -> SettingField {
        SettingField(name, key: key, isSwitch: true, allowed: "on or off") { text in
            switch text {
            case "on": true
            case "off": false
            default: nil
            }
        }
    }

    private static func number(_ text: String, range: ClosedRange<Int>) -> Int? {
        Int(text).flatMap { range.contains($0) ? $0 : nil }
    }

    private static func words(_ range: ClosedRange<Int>) -> String {
        "a number from \(range.lowerBound) to \(range.upperBound)"
    }

    /// Returns the change that a form makes. Nil if the field is missing or is as on the page.
    ///
    /// - Throws: ``WebError/Code/badRequest``.
    func change(_ form: Form) throws(WebError) -> Change? {
        let hasShown = form.has("was-\(name)")
        guard form.has(name) || isSwitch && hasShown else { return nil }
        let (texts, text) = (form.all(name), form.has(name) ? form[name] : "off")
        // Another window may have changed the setting in the meantime.
        if hasShown, form["was-\(name)"] == text { return nil }
        guard texts.count < 2, let change = change(text) else {
            throw WebError(
                .badRequest, message: "'\(text.prefix(40))' is not a value of the setting '\(name)'. Write \(allowed).")
        }
        return change
    }

    /// Returns the changes that a form makes to some settings.
    ///
    /// - Throws: ``WebError/Code/badRequest``, also for a field that is not a setting.
    static func changes(_ form: Form, of fields: [SettingField]) throws(WebError) -> [Change] {
        let known = Set(fields.flatMap { [$0.name, "was-\($0.name)"] } + ["token"])
        if let unknown = form.names.first(where: { !known.contains($0) }) {
            throw WebError(.badRequest, message: "There is no setting '\(unknown.prefix(40))'. Reload the page.")
        }
        var changes: [Change] = []
        for field in fields {
            if let change = try field.change(form) { changes.append(change) }
        }
        return changes
    }
}
