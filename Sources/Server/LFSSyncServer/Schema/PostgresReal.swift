/// The function `lfs_real(x)`, which writes a number as JSON exactly as Swift does, and therefore as SQLite's function
/// does. The text has a point, and no exponent up to 2^53.
enum PostgresReal {
    /// PostgreSQL's own text sometimes has one digit more. This happens if the shorter text lies exactly between two
    /// numbers and is read as this number because it is even.
    static let function = """
        CREATE FUNCTION lfs_real(value double precision) RETURNS text LANGUAGE plpgsql STABLE STRICT AS $$
        DECLARE
            made text := value::text;
            mantissa numeric;
            shorter text;
        BEGIN
            IF value = 'NaN' THEN
                RETURN NULL;
            ELSIF value = 'Infinity' OR value = '-Infinity' THEN
                RETURN '{"real":"' || made || '"}';
            END IF;
            IF length(made) > 16 AND abs(value) < 1e308 THEN
                mantissa := split_part(made, 'e', 1)::numeric;
                shorter := trim_scale(round(mantissa, scale(mantissa) - 1)) 
                    || coalesce(substring(made FROM 'e.*'), '');
                IF shorter::double precision = value THEN
                    made := shorter;
                END IF;
            END IF;
            IF abs(value) >= 1e15 AND abs(value) <= 9007199254740992 THEN
                made := made::numeric::text;
            END IF;
            RETURN CASE WHEN made ~ '[.e]' THEN made ELSE made || '.0' END;
        END $$;
        """
}
