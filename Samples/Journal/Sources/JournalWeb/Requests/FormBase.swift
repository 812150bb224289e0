import Crypto
import Foundation

/// What the fields of a form had when the page was made, which the form carries.
///
/// Only what differs from that was changed by whoever sends it. The rest stays as it is by now: another window or
/// device may have changed it meanwhile.
struct FormBase: Sendable {
    private let form: Form

    /// - Parameter form: one without these fields counts as changed in all of them.
    init(_ form: Form) { self.form = form }

    /// Whether a field has another text than the page has shown.
    func hasChanged(_ name: String) -> Bool { !form.has("was-\(name)") || form["was-\(name)"] != form[name] }

    /// The same of a long text, of which the form carries a mark.
    func hasChangedText(_ name: String) -> Bool { form["was-\(name)"] != Self.mark(form[name]) }

    /// The boxes of a name that were ticked on the page, as ids.
    func ids(_ name: String) -> Set<UUID> { Set(form.all("was-\(name)").compactMap(UUID.init(uuidString:))) }

    /// What stands for a long text. Browsers send line breaks of their own.
    static func mark(_ text: String) -> String {
        let plain = text.replacing("\r\n", with: "\n")
        return SHA256.hash(data: Data(plain.utf8)).prefix(8).map { String($0, radix: 16) }.joined(separator: ".")
    }
}
