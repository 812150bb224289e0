import LFSSettings

/// A setting as a field of a form: its name there, and which texts it takes.
struct SettingField: Sendable {
    /// Stores a value, or removes it.
    typealias Change = @Sendable (SettingsBatch) throws -> Void

    let name: String
    let isSwitch: Bool
    /// Removes the value, so that the default counts.
    let reset: Change
    /// What stores the value of a text; nil for one that is none.
    private let change: @Sendable (String) -> Change?
    /// What to write, for people.
    private let allowed: String

    /// - Parameter value: what a text means; nil for one that is none.
    private init<Value: Sendable>(
        _ name: String, _ key: StorageKey<Value>, isSwitch: Bool = false, allowed: String,
        value: @escaping @Sendable (String) -> Value?
    ) {
        (self.name, self.isSwitch, self.allowed) = (name, isSwitch, allowed)
        reset = { batch in try batch.remove(key) }
        change = { text in
            guard let value = value(text) else { return nil }
            return { batch in try batch.set(value, for: key) }
        }
    }

    /// One of some words.
    static func choice<Value: RawRepresentable<String> & Codable & CaseIterable & Sendable>(
        _ name: String, _ key: StorageKey<Value>
    ) -> SettingField {
        SettingField(name, key, allowed: "one of " + Value.allCases.map(\.rawValue).joined(separator: ", ")) { text in
            Value(rawValue: text)
        }
    }

    /// A whole number of a range.
    static func number(_ name: String, _ key: StorageKey<Int>, _ range: ClosedRange<Int>) -> SettingField {
        SettingField(name, key, allowed: words(range)) { text in number(text, range) }
    }

    /// A time in whole minutes of a range.
    static func minutes(_ name: String, _ key: StorageKey<Duration>, _ range: ClosedRange<Int>) -> SettingField {
        SettingField(name, key, allowed: words(range)) { text in number(text, range).map { .seconds($0 * 60) } }
    }

    /// A box that is ticked, which browsers send as `on`, or not, which they do not send.
    static func toggle(_ name: String, _ key: StorageKey<Bool>) -> SettingField {
        SettingField(name, key, isSwitch: true, allowed: "on or off") { text in
            switch text {
            case "on": true
            case "off": false
            default: nil
            }
        }
    }

    private static func number(_ text: String, _ range: ClosedRange<Int>) -> Int? {
        Int(text).flatMap { range.contains($0) ? $0 : nil }
    }

    private static func words(_ range: ClosedRange<Int>) -> String {
        "a number from \(range.lowerBound) to \(range.upperBound)"
    }

    /// What a form changes of it; nil when it leaves it as the page has shown it, or does not have it.
    ///
    /// - Throws: ``WebError/Code/badRequest``.
    func change(_ form: Form) throws(WebError) -> Change? {
        let hasShown = form.has("was-\(name)")
        guard form.has(name) || isSwitch && hasShown else { return nil }
        let (texts, text) = (form.all(name), form.has(name) ? form[name] : "off")
        // Another window may have changed it meanwhile.
        if hasShown, form["was-\(name)"] == text { return nil }
        guard texts.count < 2, let change = change(text) else {
            throw WebError(.badRequest, "'\(text.prefix(40))' is nothing for the setting '\(name)'. Write \(allowed).")
        }
        return change
    }

    /// What a form changes of some settings.
    ///
    /// - Throws: ``WebError/Code/badRequest``, also for a field that is no setting.
    static func changes(_ form: Form, of fields: [SettingField]) throws(WebError) -> [Change] {
        let known = Set(fields.flatMap { [$0.name, "was-\($0.name)"] } + ["token"])
        if let unknown = form.names.first(where: { !known.contains($0) }) {
            throw WebError(.badRequest, "There is no setting '\(unknown.prefix(40))'. Load the page again.")
        }
        var changes: [Change] = []
        for field in fields {
            if let change = try field.change(form) { changes.append(change) }
        }
        return changes
    }
}
