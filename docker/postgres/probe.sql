-- The probe's user: it may connect to one database and work in one schema, its own.
-- Run once by the image's entry point, as the superuser, in the database bench.
\set ON_ERROR_STOP on
\set password `cat /run/secrets/probe_password`

CREATE ROLE probe LOGIN PASSWORD :'password'
    NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 32;

REVOKE ALL ON DATABASE bench FROM PUBLIC;
REVOKE ALL ON DATABASE postgres FROM PUBLIC;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT CONNECT ON DATABASE bench TO probe;

CREATE SCHEMA wakelag AUTHORIZATION probe;
ALTER ROLE probe IN DATABASE bench SET search_path = wakelag;
