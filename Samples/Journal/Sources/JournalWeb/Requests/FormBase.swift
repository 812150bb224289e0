import Crypto
import Foundation

/// The values of a form's fields at the time when the page was created, which the form contains.
///
/// Only fields that differ from these values have been changed in the form. The other fields keep their stored values,
/// which another window or device may have changed since.
struct FormBase: Sendable {
    private let form: Form

    /// - Parameter form: The form. Without the original values all fields count as changed.
    init(_ form: Form) { self.form = form }

    /// Returns true if a field has another time than the page has shown. Browsers omit seconds that are zero.
    func hasChangedTime(_ name: String, times: LocalTime) -> Bool {
        let (was, now) = (form["was-\(name)"], form[name])
        guard form.has("was-\(name)"), was != now else { return !form.has("was-\(name)") }
        guard let before = times.date(was), let after = times.date(now) else { return true }
        return before != after
    }

    /// Returns true if a long text has changed. The form contains a hash of the original text.
    func hasChangedText(_ name: String) -> Bool { form["was-\(name)"] != Self.mark(form[name]) }

    /// Returns the ids of the boxes with a name that were ticked on the page.
    func ids(_ name: String) -> Set<UUID> { Set(form.all("was-\(name)").compactMap(UUID.init(uuidString:))) }

    /// Returns the hash of a long text. Line breaks are normalized, since browsers change them.
    static func mark(_ text: String) -> String {
        let plain = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
        return SHA256.hash(data: Data(plain.utf8)).prefix(8).map { String($0, radix: 16) }.joined(separator: ".")
    }
}
